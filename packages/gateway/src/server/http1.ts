import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { exchangeOf } from "../http/node-exchange.ts";
import { continueWhenRead } from "../http/request-exchange.ts";
import type { PortLimits } from "./limits.ts";
import { type AnsweredRefusal, closeSoon, type Refusals } from "./refusal.ts";
import type { TlsMaterial } from "./tls.ts";

/** Pipelined requests of one connection whose answers are not sent yet. Browsers pipeline none. */
const pipelinedMax = 64;

/** The server that listens. The port looks at each connection first, and hands over those of HTTP/1.1. */
export function createHttp1Server(
  limits: PortLimits,
  tls: TlsMaterial | undefined,
  handler: http.RequestListener,
  refusals: Refusals,
  onRequested: OnRequested,
): http.Server | https.Server {
  const options: http.ServerOptions = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.requestTimeoutMs,
    // The limit strikes up to this much late.
    connectionsCheckingInterval: Math.min(1000, limits.requestTimeoutMs),
    // limitConnections limits bodies: some may take longer.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: 60_000, // the system's is two hours, and a stream may be quiet
    noDelay: true,
    // The gateway rejects a request without a Host itself, with an error body.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? http.createServer(options)
      : https.createServer({
          ...options,
          allowHalfOpen: true, // http.Server sets it by itself
          ...tls,
          requestCert: tls.ca !== undefined, // and refuses clients without a right one
          ALPNProtocols: ["h2", "http/1.1"],
          handshakeTimeout: limits.requestTimeoutMs,
        });
  // A client that shuts its sending side after whole requests gets its answers.
  Object.assign(server, { httpAllowHalfOpen: true });
  const serveRequest = (request: http.IncomingMessage, response: http.ServerResponse) => {
    const socket: CountedSocket = request.socket;
    const { httpVersion, httpVersionMajor, headers } = request;
    // The parser accepts any version, and chunks in 1.0, which a proxy may frame otherwise (RFC 9112, 6.1).
    const isCoded = httpVersion === "1.0" && headers["transfer-encoding"] !== undefined;
    if (httpVersionMajor !== 1 || isCoded) refuseLast(socket, "malformed", refusals);
    if (socket[isRefused]) return; // what follows may be part of a body
    if (socket[underWay] === undefined) {
      const tell = () => onRequested(socket);
      request.once("end", tell);
      response.once("finish", tell);
    }
    socket[underWay] ??= [];
    const responses = socket[underWay];
    if (responses.push(response) > pipelinedMax || socket.writableEnded) {
      socket.destroy();
      return;
    }
    const before = socket[lastResponse];
    // A drain may have taken it for the last.
    if (before !== undefined && !server.listening) before.shouldKeepAlive = true;
    socket[lastResponse] = response;
    // Node loses a request that comes in one piece with the end of one that asks for an upgrade.
    const hasBody = headers["transfer-encoding"] ?? Number(headers["content-length"]) > 0;
    if (hasBody && headers.upgrade && response.shouldKeepAlive) {
      response.shouldKeepAlive = false;
      request.once("end", () => (response.shouldKeepAlive = server.listening));
    }
    response.on("close", () => {
      responses.splice(responses.indexOf(response), 1);
      if (!request.complete) {
        if (!socket.destroyed) discardRest(request, socket);
      } else if (socket[lastResponse] === response) {
        socket[lastResponse] = undefined; // an idle connection must not keep its requests in memory
      }
      if (socket[isRefused] && wholeRequests(socket) === 0) socket.destroy();
    });
    handler(request, response);
  };
  server.on("request", serveRequest);
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    serveRequest(request, response);
  });
  server.on("timeout", (socket: CountedSocket) => {
    // It may be idle while its request is served, but not while its client reads no answer.
    if (!socket[underWay]?.length || socket.writableLength > 0) socket.destroy();
  });
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket) => {
    // The client has closed its sending side within a request.
    if (code === "HPE_INVALID_EOF_STATE") leaveAll(socket);
    if (code === "ECONNRESET") socket.destroy();
    else refuseLast(socket, kinds[code] ?? "malformed", refusals);
  });
  server.removeAllListeners("tlsClientError"); // Node's passes it on as a request that is malformed
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // Clients that only connect and leave, as probes do, are none.
    if (error.code !== "ECONNRESET" || socket.authorizationError) refusals.ofHandshake(socket);
    socket.destroy(); // nothing can be answered, and `end` would wait for the handshake forever
  });
  server.on("connect", (_, socket) => refuseLast(socket, "tunnel", refusals));
  server.on("checkExpectation", (_, response) => refusals.onResponse(response, "expectation"));
  return server;
}

/** Called after the first complete request or answer of a connection. */
export type OnRequested = (socket: Socket) => void;

const underWay = Symbol("responses under way");
const lastResponse = Symbol("the response to the last request, until both are complete");
const isRefused = Symbol("is refused");
const late = Symbol("since when its request is known to be incomplete");

/** The state of a connection. In properties, because a map costs more on every request. */
interface Noted {
  [underWay]?: http.ServerResponse[];
  [lastResponse]?: (http.ServerResponse & { [late]?: number }) | undefined;
  [isRefused]?: boolean;
}

/** Node sets `_paused` while it has paused the connection until its answers are read. */
type CountedSocket = Socket & Noted & { readonly _paused?: boolean };

/**
 * Discards the unread rest of a request, which comes before the next one (RFC 9112 section 9.3).
 * Node does so itself unless someone began to read it and stopped: a destroyed body leaves its
 * connection paused. A connection that Node has paused, because its client reads no answers, must
 * be left to Node: reading from it ends the process.
 */
function discardRest(request: http.IncomingMessage, socket: CountedSocket): void {
  socket.off("finish", socket.destroy); // Node's, after a last answer
  if (socket.writableEnded) closeSoon(socket);
  (request as unknown as { _dump(): void })._dump();
  if (socket._paused !== true) socket.resume();
}

/**
 * Limits how slowly a client may send a body, and how long it may read nothing of its answers.
 * Checks all connections at intervals: a timer for each would be reset several times a request. So
 * the first limit strikes up to an interval late, the second within twice its time. Call `limit`
 * with each connection before the server gets it, and `leave` when a drain begins.
 */
export function limitConnections(server: http.Server, limits: PortLimits, refusals: Refusals) {
  const { idleTimeoutMs, requestTimeoutMs } = limits;
  const sockets = new Set<CountedSocket>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets) {
      if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(idleTimeoutMs);
      const last = socket[lastResponse];
      if (last?.closed && last.req.complete) socket[lastResponse] = undefined; // answered early
      if (last === undefined || last.req.complete || exchangeOf(last)?.isKept) continue;
      last[late] ??= now;
      if (now - last[late] < requestTimeoutMs) continue;
      if (exchangeOf(last)?.keepsPace(requestTimeoutMs)) last[late] = now;
      else refuseLast(socket, "late", refusals);
    }
  };
  // A server that failed to listen never closes.
  server.once("listening", () => {
    const timer = setInterval(look, Math.min(1000, idleTimeoutMs, requestTimeoutMs));
    server.once("close", () => clearInterval(timer));
  });
  return {
    limit(socket: CountedSocket): void {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      socket.once("end", () => leaveAll(socket));
    },
    /** The answers under way say that they are the last ones. */
    leave(): void {
      for (const { [lastResponse]: last } of sockets) if (last) closeAfter(last);
    },
  };
}

/** Ends the connection after an answer, unless another request comes. */
export function closeAfter(response: http.ServerResponse): void {
  const { req } = response;
  const close = () => {
    if ((req.socket as CountedSocket)[lastResponse] === response) response.shouldKeepAlive = false;
  };
  const { "content-length": length = "0", "transfer-encoding": coding } = req.headers;
  if (req.complete || (length === "0" && coding === undefined)) close();
  else req.once("end", close); // a client that still sends would lose an early answer
}

function leaveAll(socket: Duplex & Noted): void {
  for (const response of socket[underWay] ?? []) exchangeOf(response)?.leave();
}

/** By the code of the parser's error. */
const kinds: Readonly<Record<string, AnsweredRefusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "late", // of headers
  HPE_HEADER_OVERFLOW: "oversized",
};

/** After answers that are still to come, a client would mistake the rejection for one of them. */
export function refuseLast(
  socket: Duplex & Noted,
  kind: AnsweredRefusal,
  refusals: Refusals,
): void {
  // The parser also rejects everything that follows, piece by piece.
  if (socket[isRefused]) return;
  socket[isRefused] = true;
  const last = socket[lastResponse];
  const isPart = last !== undefined && !last.req.complete;
  const isNext = wholeRequests(socket) === 0;
  const canAnswer = isNext && socket.writable && !(isPart && last.headersSent);
  const answer = isPart ? last : undefined;
  const response = refusals.report(kind, socket, answer?.req.headers, { answer, canAnswer });
  if (!isNext) {
    if (last?.req.complete) last.shouldKeepAlive = false;
    // The answers may never end or never be read, and no other limit applies.
    const cutOff = setTimeout(() => socket.destroy(), refusals.idleTimeoutMs).unref();
    socket.once("close", () => clearTimeout(cutOff));
    return;
  }
  if (canAnswer) refusals.answerOnSocket(socket, response, isPart && last.req.method === "HEAD");
  else socket.destroy();
}

/** Complete requests without a complete answer. Only the last request may be incomplete. */
function wholeRequests(socket: Noted): number {
  const last = socket[lastResponse];
  const isLastInPart = last !== undefined && !last.req.complete && !last.closed;
  return (socket[underWay]?.length ?? 0) - (isLastInPart ? 1 : 0);
}
