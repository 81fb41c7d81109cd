import http2 from "node:http2";
import type { Limits } from "./limits.ts";
import { refuse } from "./refusal.ts";

type RequestListener = (
  request: http2.Http2ServerRequest,
  response: http2.Http2ServerResponse,
) => void;

/**
 * A server for HTTP/2 that listens to nothing itself: connections are emitted
 * to it. Node gives HTTP/2 no timeouts; these are ours.
 */
export function createHttp2Server(limits: Limits, handler: RequestListener): http2.Http2Server {
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
  server.on("session", (session) => limitSession(session, limits));
  server.on("request", (request, response) => {
    limitRequest(request, response, limits.requestTimeoutMs);
    if (headerBytes(request) > limits.headerBytesMax) refuse(response, "oversized");
    else handler(request, response);
  });
  server.on("connect", (_request, response) => refuse(response, "tunnel"));
  server.on("checkExpectation", (_request, response) => refuse(response, "expectation"));
  // A connection that breaks is its client's affair.
  server.on("sessionError", () => {});
  return server;
}

/** What RFC 9113 section 6.5.2 counts for SETTINGS_MAX_HEADER_LIST_SIZE; Node only announces it. */
function headerBytes({ rawHeaders }: http2.Http2ServerRequest): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 16, 0);
}

/** Ends a session that rests, never begins, or takes nothing of what it asked for. */
function limitSession(session: http2.ServerHttp2Session, limits: Limits): void {
  const streams = new Set<http2.ServerHttp2Stream>();
  session.on("stream", (stream) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
  });
  session.setTimeout(limits.requestTimeoutMs);
  session.once("remoteSettings", () => session.setTimeout(limits.idleTimeoutMs));
  session.on("timeout", () => {
    const isStalled = (stream: http2.ServerHttp2Stream) => stream.writableLength > 0;
    if ([...streams].every(isStalled)) session.destroy();
  });
}

function limitRequest(
  request: http2.Http2ServerRequest,
  response: http2.Http2ServerResponse,
  timeoutMs: number,
): void {
  const { stream } = request;
  const timer = setTimeout(() => {
    if (!response.headersSent) refuse(response, "late");
    stream.close(http2.constants.NGHTTP2_CANCEL);
  }, timeoutMs);
  request.once("end", () => clearTimeout(timer));
  stream.once("close", () => clearTimeout(timer));
  // RFC 9113 section 8.1: an answer that did not need the rest of the request
  // ends the stream without error, so that the client stops sending.
  response.once("finish", () => {
    if (!request.complete) stream.close(http2.constants.NGHTTP2_NO_ERROR);
  });
}
