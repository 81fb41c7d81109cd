import http2 from "node:http2";
import type { Socket } from "node:net";
import type { GatewayHandler } from "../adapter/node.ts";
import { continueWhenRead, type NodeHandler } from "../http/node.ts";
import { clientShut, isKeptOpen } from "../http/node-exchange.ts";
import { leaveRequest } from "../http/stream-exchange.ts";
import { LinkedList } from "../rpc/linked-list.ts";
import type { OnRequested } from "./http1.ts";
import { Intake } from "./intake.ts";
import type { PortLimits } from "./limits.ts";
import type { Refusals } from "./refusal.ts";
import { Turns } from "./turns.ts";

type Stream = http2.ServerHttp2Stream;

/** Serves requests: those of HTTP/2 by their stream, where it can. */
export type PortHandler = NodeHandler & Pick<GatewayHandler, "serveStream">;

/**
 * Requests of one connection in one turn of the event loop; of most, fewer come. Node reads 64 KiB
 * at a time, and hands over all requests in it, hundreds, before anyone else has a turn. Of those
 * that wait, many have been taken back when their turn comes, as in a flood of resets.
 */
const servedAtOnce = 32;

/**
 * A server for HTTP/2 that listens to nothing itself: connections are emitted
 * to it. Node gives HTTP/2 no timeouts; these are ours.
 */
export function createHttp2Server(
  limits: PortLimits,
  handler: PortHandler,
  refusals: Refusals,
  onRequested: OnRequested = ignoreError,
): http2.Http2Server {
  const server = http2.createServer({
    settings: {
      maxConcurrentStreams: limits.streamsMax,
      maxHeaderListSize: limits.headerBytesMax,
      enablePush: false,
    },
    // No client of ours sends more; HPACK makes many small headers cheap to send.
    maxHeaderListPairs: 100,
    // What a client may get wrong, reset or ping before the connection ends.
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    maxOutstandingPings: 10,
    streamResetBurst: 1000,
    streamResetRate: 33,
  });
  // A session does not hand out its socket: it is the one that came just before it.
  let socket: Socket | undefined;
  server.prependListener("connection", (opened: Socket) => {
    socket = opened;
  });
  const intake = new Intake();
  server.on("session", (session) => {
    const turns = new Turns(servedAtOnce, serveStream);
    session.on("stream", (...request: Parameters<StreamListener>) => {
      const [stream] = request;
      // While it waits, nobody else hears what becomes of it.
      if (!turns.take(request)) stream.on("error", ignoreError);
    });
    if (socket !== undefined) {
      limitIntake(session, socket, intake);
      tellFirstRequest(session, socket, onRequested);
    }
    limitSession(session, socket, limits, refusals);
  });
  const answer = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
    // It ended while it waited for its turn, with nobody there to hear of it.
    if (request.stream.readableEnded) request.push(null);
    request.stream.once("finish", () => leaveRequest(request.stream));
    const isOversized = headerBytes(request.rawHeaders) > limits.headerBytesMax;
    if (isOversized) refusals.onResponse(response, "oversized");
    else void handler(request, response);
  };
  server.on("request", answer);
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    answer(request, response);
  });
  const serveRequest = takeStreams(server);
  function serveStream(request: Parameters<StreamListener>): boolean {
    const [stream, headers, , rawHeaders] = request;
    // To answer it, 100 (Continue) above all, would throw outside of any handler.
    if (stream.destroyed || stream.closed) {
      stream.on("error", ignoreError);
      return false;
    }
    const isOversized = headerBytes(rawHeaders) > limits.headerBytesMax;
    if (isOversized || !handler.serveStream(stream, headers, rawHeaders)) {
      serveRequest.apply(server, request);
    }
    return true;
  }
  server.on("connect", (_request, response) => refusals.onResponse(response, "tunnel"));
  server.on("checkExpectation", (_request, response) =>
    refusals.onResponse(response, "expectation"),
  );
  // A connection that breaks is its client's affair.
  server.on("sessionError", () => {});
  return server;
}

function limitIntake(session: http2.ServerHttp2Session, socket: Socket, intake: Intake): void {
  intake.add(socket);
  session.on("stream", () => intake.take(socket));
  session.once("close", () => intake.remove(socket));
}

/** Listens to streams until one has come whole, or was answered. */
function tellFirstRequest(
  session: http2.ServerHttp2Session,
  socket: Socket,
  onRequested: OnRequested,
): void {
  const tell = () => {
    session.off("stream", listen);
    onRequested(socket);
  };
  const listen = (stream: Stream) => {
    stream.once("end", tell);
    stream.once("finish", tell);
  };
  session.on("stream", listen);
}

type StreamListener = (
  stream: Stream,
  headers: http2.IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/** A stream that breaks off is its client's affair; and not all ask what a connection has sent. */
function ignoreError(): void {}

/** Takes the listener that makes requests of streams off the server, and returns it. */
function takeStreams(server: http2.Http2Server): StreamListener {
  const [serve] = server.listeners("stream") as StreamListener[];
  if (serve === undefined) throw new Error("node:http2 makes no requests of streams");
  server.off("stream", serve);
  return serve;
}

/** What RFC 9113 section 6.5.2 counts for SETTINGS_MAX_HEADER_LIST_SIZE; Node only announces it. */
function headerBytes(rawHeaders: readonly string[]): number {
  let bytes = 16 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/**
 * Ends a session that rests, never begins, or takes nothing of what it asked for.
 *
 * Node sets a timeout of a session back several times a request, so there is none
 * while a request is at work: one timer looks at all streams, and everything ends
 * up to one interval late.
 */
function limitSession(
  session: http2.ServerHttp2Session,
  socket: Socket | undefined,
  limits: PortLimits,
  refusals: Refusals,
): void {
  const { requestTimeoutMs, idleTimeoutMs } = limits;
  const streams = new LinkedList<{ readonly stream: Stream; readonly startedAt: number }>();
  let isTimed = true;
  session.on("stream", (stream: Stream) => {
    const opened = streams.append({ stream, startedAt: performance.now() });
    stream.on("close", () => opened.remove());
    if (isTimed) session.setTimeout(0);
    isTimed = false;
  });
  // One that is closed waits for its streams, and they for its client, which may have gone.
  const isResting = () =>
    session.closed || [...streams].every(({ stream }) => stream.writableLength > 0);
  const timer = setInterval(
    () => {
      if (session.destroyed) {
        clearInterval(timer);
        // Node waits for the client to take what has been written, however long that takes.
        socket?.setTimeout(idleTimeoutMs, () => socket.destroy());
        return;
      }
      const start = performance.now() - requestTimeoutMs;
      for (const { stream, startedAt } of streams) {
        if (startedAt > start) break; // in order of their start
        if (!stream.readableEnded && !isKeptOpen(stream)) endLateRequest(stream, refusals);
      }
      if (isTimed || !isResting()) return;
      session.setTimeout(idleTimeoutMs);
      isTimed = true;
    },
    Math.min(1000, requestTimeoutMs, idleTimeoutMs),
  );
  session.once("close", () => clearInterval(timer));
  let isGoing = false;
  session.once("goaway", () => {
    isGoing = true;
  });
  // The client has shut its side: what has come whole is cancelled, but answered if it can be. The
  // rest comes no more. One that has said GOAWAY before has left, as clients do that are closed.
  socket?.once("end", () => {
    const isWhole = ({ state }: Stream) => state.remoteClose === 1;
    // Node waits for ever for the rest of a frame, where a session is only told to close.
    if (isGoing || ![...streams].some(({ stream }) => isWhole(stream))) {
      session.destroy();
      return;
    }
    for (const { stream } of streams) {
      if (isWhole(stream)) clientShut(stream);
      else stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    session.close();
  });
  session.setTimeout(requestTimeoutMs);
  session.once("remoteSettings", () => {
    if (isTimed) session.setTimeout(idleTimeoutMs);
  });
  session.on("timeout", () => {
    if (isResting()) session.destroy();
    // It strikes once: what rested has begun to move again, and may rest later.
    isTimed = false;
  });
}

function endLateRequest(stream: Stream, refusals: Refusals): void {
  if (!stream.headersSent && !stream.destroyed && !stream.closed) {
    refusals.onStream(stream, "late");
  }
  stream.close(http2.constants.NGHTTP2_CANCEL);
}
