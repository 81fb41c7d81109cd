/**
 * A process that reads endless streams of gRPC: `stream-reader.ts URL CONNECTIONS STREAMS SECONDS`,
 * with as many streams on each connection. Prints the messages per second as JSON, measured after
 * the first second. It gives servers windows of 1 MiB and looks at nothing but lengths.
 */
import net from "node:net";
import { messageBytes, streamPath } from "../stream.ts";
import { FrameReader, flag, frame, frameType, preface, windowUpdate } from "./frames.ts";

const [url = "", connections = 4, streams = 16, seconds = 2] = process.argv.slice(2);
const { hostname, port, host } = new URL(url);
const windowBytes = 2 ** 20;

/** A literal without indexing (RFC 7541, section 6.2.2), of short texts. */
function field(name: string, value: string): Buffer {
  const text = (one: string) => Buffer.concat([Buffer.of(one.length), Buffer.from(one)]);
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

const headers = Buffer.concat([
  field(":method", "POST"),
  field(":scheme", "http"),
  field(":path", streamPath),
  field(":authority", host),
  field("content-type", "application/grpc"),
  field("te", "trailers"),
]);
const settings = Buffer.alloc(6);
settings.writeUInt16BE(4); // SETTINGS_INITIAL_WINDOW_SIZE
settings.writeUInt32BE(windowBytes, 2);

let bytes = 0;

function open(): void {
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  const taken = new Map<number, number>();
  const take = (id: number, length: number) => {
    const total = (taken.get(id) ?? 0) + length;
    taken.set(id, total < windowBytes / 4 ? total : 0);
    if (total >= windowBytes / 4) socket.write(windowUpdate(id, total));
  };
  const frames = new FrameReader((type, flags, streamId, from, start, end) => {
    if (type === frameType.data) {
      bytes += end - start;
      take(streamId, end - start);
      take(0, end - start);
    } else if (type === frameType.settings && (flags & flag.ack) === 0) {
      socket.write(frame(frameType.settings, flag.ack, 0, Buffer.alloc(0)));
    } else if (type === frameType.ping && (flags & flag.ack) === 0) {
      socket.write(frame(frameType.ping, flag.ack, 0, from.subarray(start, end)));
    } else if (type === frameType.rstStream || type === frameType.goaway) {
      throw new Error(`the server ended a stream: frame ${type}`);
    } else if (type === frameType.headers && (flags & flag.endStream) !== 0) {
      throw new Error("the server ended a stream");
    }
  });
  socket.on("data", (chunk: Buffer) => frames.read(chunk));
  socket.write(Buffer.concat([preface, frame(frameType.settings, 0, 0, settings)]));
  socket.write(windowUpdate(0, windowBytes));
  for (let n = 0; n < Number(streams); n++) {
    const id = 2 * n + 1;
    socket.write(frame(frameType.headers, flag.endHeaders, id, headers));
    socket.write(frame(frameType.data, flag.endStream, id, Buffer.alloc(5)));
  }
}

for (let n = 0; n < Number(connections); n++) open();
setTimeout(() => {
  const start = { bytes, at: performance.now() };
  setTimeout(() => {
    const messages = (bytes - start.bytes) / messageBytes;
    const messagesPerSecond = (messages / (performance.now() - start.at)) * 1000;
    process.stdout.write(JSON.stringify({ messagesPerSecond, messages: bytes / messageBytes }));
    process.exit(messages > 0 ? 0 : 1);
  }, Number(seconds) * 1000);
}, 1000);
