import type { EventEmitter } from "node:events";
import http2 from "node:http2";
import type { Socket } from "node:net";
import type { GatewayHandler } from "../adapter/node.ts";
import { isTrimmed } from "../http/headers.ts";
import { exchangeOf } from "../http/node-exchange.ts";
import { continueWhenRead, type NodeHandler } from "../http/request-exchange.ts";
import { outliveStreams, StreamTable, sessionMegabytesMax } from "../http/session.ts";
import { leaveRequest } from "../http/stream-exchange.ts";
import { requestWindows } from "../http/windows.ts";
import { isReset } from "./connection-limits.ts";
import type { OnRequested } from "./http1.ts";
import type { Intake } from "./intake.ts";
import type { PortLimits } from "./limits.ts";
import type { Refusals } from "./refusal.ts";

type Stream = http2.ServerHttp2Stream;

export type PortHandler = NodeHandler & Pick<GatewayHandler, "serveStream">;

/** Does not listen: the port emits connections to it. Node has no timeouts for HTTP/2. */
export function createHttp2Server(
  limits: PortLimits,
  handler: PortHandler,
  refusals: Refusals,
  intake: Http2Intake,
  onRequested: OnRequested,
): http2.Http2Server {
  const server = http2.createServer({
    settings: {
      maxConcurrentStreams: limits.streamsMax,
      // Node resets streams with more, unheard, once the client has acknowledged it.
      maxHeaderListSize: limits.headerBytesMax + resetHeaderBytes,
      enablePush: false,
      initialWindowSize: requestWindows.firstWindowBytes,
    },
    maxSessionMemory: sessionMegabytesMax,
    // HPACK makes many small headers cheap to send. No real client sends more.
    maxHeaderListPairs: 100,
    // Otherwise nghttp2 drops a field that begins or ends with a space, unheard.
    strictFieldWhitespaceValidation: false,
    // How many empty or invalid frames ever, rejections in a row and pings end the connection.
    maxSessionInvalidFrames: 10_000,
    maxSessionRejectedStreams: 10_000,
    maxOutstandingPings: 10,
    // A proxy in front may cancel the calls of many clients on one connection.
    streamResetBurst: 10_000,
    streamResetRate: 1000,
  });
  // A session does not expose its socket: it is the one that came just before.
  let socket: Socket | undefined;
  server.prependListener("connection", (opened: Socket) => (socket = opened));
  server.on("session", (session) => {
    requestWindows.add(session);
    const from = socket as Socket;
    const line = intake.open(from, serveStream);
    session.on("stream", (...request: Parameters<StreamListener>) => {
      requestWindows.watch();
      // While it waits, it has no other listener for errors.
      if (!intake.take(line, request)) request[0].on("error", ignoreError);
    });
    session.once("close", () => intake.close(line));
    const tell = () => {
      session.off("stream", untilRequested);
      onRequested(from);
    };
    const untilRequested = (stream: Stream) => stream.once("end", tell).once("finish", tell);
    session.on("stream", untilRequested);
    limitSession(session, from, limits, refusals);
  });
  const answer = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
    // It may have ended while it waited for its turn.
    if (request.stream.readableEnded) request.push(null);
    request.stream.once("finish", () => leaveRequest(request.stream));
    const isOversized = headerBytes(request.rawHeaders) > limits.headerBytesMax;
    if (isOversized) refusals.onStream(request.stream, "oversized", request.headers);
    else void handler(request, response);
  };
  server.on("request", answer);
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    answer(request, response);
  });
  const serveRequest: StreamListener = takeListener(server, "stream");
  function serveStream(request: Parameters<StreamListener>): boolean {
    const [stream, headers, , rawHeaders] = request;
    // Answering it, with 100 (Continue) for example, would throw outside of any handler.
    if (stream.destroyed || stream.closed) {
      stream.on("error", ignoreError);
      return false;
    }
    const isOversized = headerBytes(rawHeaders) > limits.headerBytesMax;
    trimValues(headers, rawHeaders);
    const isTunnel = headers[":method"] === "CONNECT";
    if (isOversized || isTunnel || !handler.serveStream(stream, headers, rawHeaders)) {
      serveRequest.apply(server, request);
    }
    return true;
  }
  server.on("connect", (_, response) => refusals.onResponse(response, "tunnel"));
  server.on("checkExpectation", (_, response) => refusals.onResponse(response, "expectation"));
  server.on("sessionError", ignoreError);
  return server;
}

type StreamListener = (
  stream: Stream,
  headers: http2.IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

export type Http2Intake = Intake<Parameters<StreamListener>>;

/** The client aborted the stream; nothing to report. */
function ignoreError(): void {}

/** Removes Node's own listener of an event, and returns it. @throws in Bun, which would never call it. */
export function takeListener<F>(server: EventEmitter, event: string): F {
  const [serve, ...others] = server.listeners(event) as ((...values: unknown[]) => void)[];
  if (serve === undefined || others.length > 0) {
    throw new Error(
      "this runtime's node:http does not hand over its connections, so one port cannot serve both " +
        "versions of HTTP: serve gatewayNodeAdapter with node:http and node:http2 instead",
    );
  }
  server.off(event, serve);
  return serve as F;
}

/** Spaces around a value are no part of it (RFC 9110 section 5.5). Over HTTP/1.1, Node removes them. */
function trimValues(headers: http2.IncomingHttpHeaders, rawHeaders: readonly string[]): void {
  for (let i = 1; i < rawHeaders.length; i += 2) {
    if (isTrimmed(rawHeaders[i] as string)) continue;
    const name = rawHeaders[i - 1] as string;
    const value = headers[name];
    if (typeof value !== "string") continue;
    headers[name] = new Headers({ value }).get("value") ?? ""; // other kinds of spaces stay
  }
}

/** How far above the limit headers are still answered with 431: as much as nghttp2 reads of a field. */
const resetHeaderBytes = 64 * 1024;

/** The size as in SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 section 6.5.2). */
function headerBytes(rawHeaders: readonly string[]): number {
  let bytes = 16 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/**
 * Ends a session that is idle, never begins, or reads none of its answers.
 *
 * Node resets the timeout of a session several times a request. So there is none while a request is
 * served: one timer checks all streams, and each limit strikes up to an interval late.
 */
function limitSession(
  session: http2.ServerHttp2Session,
  socket: Socket,
  limits: PortLimits,
  refusals: Refusals,
): void {
  const { requestTimeoutMs, idleTimeoutMs } = limits;
  const streams = new StreamTable<{ readonly stream: Stream; seenAt: number }>();
  let isTimed = true;
  /** At the last check, once the client has shut its sending side. */
  let sentBytes: number | undefined;
  const outlive = outliveStreams(session);
  session.on("stream", (stream: Stream) => {
    const { id = 0 } = stream;
    streams.set(id, { stream, seenAt: performance.now() });
    stream.on("close", () => streams.delete(id)).on("close", outlive(stream));
    if (isTimed) session.setTimeout(0);
    isTimed = false;
  });
  // A closed session waits for its streams, and these for a client that may be gone.
  const isResting = () =>
    session.closed || [...streams].every(({ stream }) => stream.writableLength > 0);
  const timer = setInterval(
    () => {
      // Node may not notice when a client leaves after GOAWAY.
      if (session.closed && isReset(socket)) socket.destroy();
      if (session.destroyed) {
        clearInterval(timer);
        // Node waits without a limit until the client has read what was written.
        socket.setTimeout(idleTimeoutMs, () => socket.destroy());
        return;
      }
      if (socket.readableEnded) {
        for (const { stream } of streams) exchangeOf(stream)?.leave(); // it may have waited for its turn
        // Windows never open again: what waits for one is never sent.
        const isStuck = [...streams].some(({ stream }) => stream.writableLength > 0);
        if (isStuck && sentBytes === socket.bytesWritten) socket.destroy();
        sentBytes = socket.bytesWritten;
      }
      const now = performance.now();
      for (const seen of streams) {
        const { stream, seenAt } = seen;
        // Node waits for a reader where a client, such as Envoy, resets a stream without an error.
        if (stream.aborted) stream.destroy();
        if (now - seenAt < requestTimeoutMs) continue;
        if (stream.readableEnded || isWhole(stream) || exchangeOf(stream)?.isKept) continue;
        if (exchangeOf(stream)?.keepsPace(requestTimeoutMs)) {
          seen.seenAt = now;
          continue;
        }
        const canAnswer = !stream.headersSent && !stream.destroyed && !stream.closed;
        if (canAnswer) refusals.onStream(stream, "late", exchangeOf(stream)?.headers);
        stream.close(http2.constants.NGHTTP2_CANCEL);
      }
      if (isTimed || !isResting()) return;
      session.setTimeout(idleTimeoutMs);
      isTimed = true;
    },
    Math.min(1000, requestTimeoutMs, idleTimeoutMs),
  );
  session.once("close", () => clearInterval(timer));
  let isGoing = false;
  session.once("goaway", () => (isGoing = true));
  // The client has shut its sending side: complete requests are cancelled, but answered if possible.
  // The others never complete. After a GOAWAY, the client has left.
  socket.once("end", () => {
    // With `close` alone, Node would wait forever for the rest of a frame.
    if (isGoing || ![...streams].some(({ stream }) => isWhole(stream))) {
      session.destroy();
      return;
    }
    for (const { stream } of streams) {
      if (isWhole(stream)) exchangeOf(stream)?.leave();
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
    // The timeout fires once. Streams that move again may be idle later.
    isTimed = false;
  });
}

function isWhole({ state }: Stream): boolean {
  return state.remoteClose === 1;
}
