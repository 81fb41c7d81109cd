import { once } from "node:events";
import http2 from "node:http2";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { answers, grpcBody, grpcHeaders } from "../requests.ts";
import { FrameReader, flag, frameType, preface } from "./frames.ts";

/** The state after the first calls on a connection. */
export interface Greeting {
  /** The HEADERS frame of every further request. */
  readonly headers: { readonly flags: number; readonly payload: Buffer };
  /** The header block of trailers with `grpc-status: 0`. */
  readonly trailers: Buffer;
  readonly nextStreamId: number;
  /** What may be sent before the server opens the window further. */
  readonly sendWindow: number;
  readonly streamsMax: number;
}

/** The first adds the header fields to the HPACK table, the others refer to it. */
const calls = 3;

/**
 * Makes the first calls on a connection with Node's own client, then takes the connection over. The
 * bytes sent and received are then known to be correct, and can be compared and repeated without
 * HPACK: the client has no table for answers, so equal trailers are equal bytes. Once the server's
 * table contains the request's fields, equal requests are equal bytes, too.
 */
export async function greet(socket: Socket, nextId: () => number): Promise<Greeting> {
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  let isOver = false;
  const tap = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      if (isOver) return done();
      sent.push(chunk);
      socket.write(chunk, done);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    received.push(chunk);
    tap.push(chunk);
  });
  const session = http2.connect(`http://${socket.remoteAddress}:${socket.remotePort}`, {
    createConnection: () => tap,
    settings: { headerTableSize: 0, enablePush: false },
  });
  const failed = once(session, "error").then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  for (let n = 0; n < calls; n++) await Promise.race([call(session, nextId()), failed]);
  isOver = true;
  socket.removeAllListeners("data");
  session.destroy();
  const fromClient = Buffer.concat(sent).subarray(preface.length);
  return { ...readRequests(fromClient), ...readAnswers(Buffer.concat(received)) };
}

async function call(session: http2.ClientHttp2Session, id: number): Promise<void> {
  const stream = session.request(grpcHeaders);
  const response = once(stream, "response");
  // There are none if the headers say everything.
  let trailers: http2.IncomingHttpHeaders = {};
  stream.once("trailers", (fields) => {
    trailers = fields;
  });
  const closed = once(stream, "close");
  stream.end(grpcBody(id));
  const [[headers], body] = await Promise.all([response, buffer(stream), closed]);
  const status = `${headers[":status"]}, grpc-status ${trailers["grpc-status"]}`;
  if (status !== "200, grpc-status 0" || !body.equals(answers.grpc)) {
    throw new Error(`a wrong answer: ${status}, ${body.toString("hex")}`);
  }
}

function readRequests(bytes: Buffer): Pick<Greeting, "headers" | "nextStreamId"> {
  const requests: Greeting["headers"][] = [];
  new FrameReader((type, flags, _streamId, from, start, end) => {
    if (type === frameType.headers) requests.push({ flags, payload: from.subarray(start, end) });
  }).read(bytes);
  const [last, oneBefore] = requests.toReversed();
  if (last === undefined || !oneBefore?.payload.equals(last.payload)) {
    throw new Error("Node's client does not repeat the bytes of a request");
  }
  return { headers: last, nextStreamId: 2 * calls + 1 };
}

const initialWindow = 65_535;
const settingIds = { maxConcurrentStreams: 3, initialWindowSize: 4 } as const;

function readAnswers(bytes: Buffer): Pick<Greeting, "trailers" | "sendWindow" | "streamsMax"> {
  let trailers: Buffer | undefined;
  let sendWindow = initialWindow - calls * grpcBody(2 ** 50).length;
  let streamsMax = Number.POSITIVE_INFINITY;
  new FrameReader((type, flags, streamId, from, start, end) => {
    const isLast = (flags & flag.endStream) !== 0;
    if (type === frameType.headers && isLast) trailers = from.subarray(start, end);
    if (type === frameType.windowUpdate && streamId === 0) sendWindow += from.readUInt32BE(start);
    if (type === frameType.settings) {
      for (let at = start; at < end; at += 6) {
        const value = from.readUInt32BE(at + 2);
        if (from.readUInt16BE(at) === settingIds.maxConcurrentStreams) streamsMax = value;
        if (from.readUInt16BE(at) === settingIds.initialWindowSize && value < 1024) {
          throw new Error("the server's windows are too small for whole requests");
        }
      }
    }
  }).read(bytes);
  if (trailers === undefined) throw new Error("the server sends no trailers");
  return { trailers, sendWindow, streamsMax };
}
