import { once } from "node:events";
import net, { type Socket } from "node:net";
import type { Answers, Connection, Target } from "./connection.ts";
import { FrameReader, flag, frame, frameType, windowUpdate } from "./frames.ts";
import { type Greeting, greet } from "./grpc-greeting.ts";
import { GrpcTemplate } from "./grpc-template.ts";

/** A stream must have ended after this many further requests. */
const startsKept = 2 ** 14;
const ended = 0;
const streamIdMax = 2 ** 31 - 1;

/** @param streams The maximum number of concurrent requests. */
export async function openGrpcConnection(
  { host, port, nextId, answers }: Target,
  streams: number,
): Promise<Connection> {
  const socket = net.connect({ host, port, noDelay: true });
  await once(socket, "connect");
  const greeting = await greet(socket, nextId);
  if (greeting.streamsMax < streams) {
    throw new Error(`the server takes ${greeting.streamsMax} streams, not ${streams}`);
  }
  return new GrpcConnection(socket, greeting, streams, nextId, answers);
}

class GrpcConnection implements Connection {
  free: number;
  readonly #socket: Socket;
  readonly #template: GrpcTemplate;
  readonly #trailers: Buffer;
  readonly #nextId: () => number;
  readonly #answers: Answers;
  /** The start of each stream's request, by stream number. */
  readonly #starts = new Float64Array(startsKept);
  readonly #buffer: Buffer;
  #out: Buffer;
  #outBytes = 0;
  #streamId: number;
  #sendWindow: number;
  #now = 0;

  constructor(
    socket: Socket,
    greeting: Greeting,
    streams: number,
    nextId: () => number,
    answers: Answers,
  ) {
    this.#socket = socket;
    this.#template = new GrpcTemplate(greeting.headers);
    this.#trailers = greeting.trailers;
    this.#streamId = greeting.nextStreamId;
    this.#sendWindow = greeting.sendWindow;
    this.#nextId = nextId;
    this.#answers = answers;
    this.free = streams;
    this.#buffer = Buffer.alloc(streams * this.#template.bytes);
    this.#out = this.#buffer;
    const frames = new FrameReader(this.#onFrame);
    socket.on("data", (chunk: Buffer) => {
      this.#now = performance.now();
      frames.read(chunk);
      answers.onFree(this, this.#now);
    });
    socket.on("error", answers.onBroken);
    socket.on("end", () => answers.onBroken(new Error("the server ended the connection")));
    // More than all answers of a run together.
    socket.write(windowUpdate(0, 2 ** 30));
  }

  add(startedAt: number): void {
    const { bytes, dataBytes } = this.#template;
    this.#template.write(this.#out, this.#outBytes, this.#streamId, this.#nextId());
    this.#outBytes += bytes;
    this.#starts[(this.#streamId >>> 1) % startsKept] = startedAt;
    this.#streamId += 2;
    this.#sendWindow -= dataBytes;
    this.free--;
    if (this.#sendWindow < 0 || this.#streamId > streamIdMax) {
      this.#answers.onBroken(new Error("the connection has no window or no stream left"));
    }
  }

  flush(): void {
    if (this.#outBytes === 0) return;
    this.#socket.write(this.#out.subarray(0, this.#outBytes));
    this.#outBytes = 0;
    // Data that the system has not accepted yet must not be overwritten.
    this.#out =
      this.#socket.writableLength === 0 ? this.#buffer : Buffer.alloc(this.#buffer.length);
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onFrame = (
    type: number,
    flags: number,
    streamId: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void => {
    switch (type) {
      case frameType.headers:
        if ((flags & flag.endStream) !== 0) {
          const isRight = this.#trailers.compare(bytes, start, end) === 0;
          this.#end(streamId, isRight);
        }
        break;
      case frameType.rstStream:
        this.#end(streamId, false);
        break;
      case frameType.windowUpdate:
        if (streamId === 0) this.#sendWindow += bytes.readUInt32BE(start);
        break;
      case frameType.settings:
        if ((flags & flag.ack) === 0) this.#reply(frameType.settings, Buffer.alloc(0));
        break;
      case frameType.ping:
        if ((flags & flag.ack) === 0) this.#reply(frameType.ping, bytes.subarray(start, end));
        break;
      case frameType.goaway:
        this.#answers.onBroken(new Error("the server sent GOAWAY"));
    }
  };

  #reply(type: number, payload: Uint8Array): void {
    this.#socket.write(frame(type, flag.ack, 0, payload));
  }

  #end(streamId: number, isRight: boolean): void {
    const slot = (streamId >>> 1) % startsKept;
    const startedAt = this.#starts[slot] ?? 0;
    // A server may reset a stream after it has answered.
    if (startedAt === ended) return;
    this.#starts[slot] = ended;
    this.free++;
    this.#answers.onAnswer(isRight, startedAt, this.#now);
  }
}
