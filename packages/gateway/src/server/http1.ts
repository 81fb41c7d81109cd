import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { continueWhenRead } from "../http/node.ts";
import { clientShut, isKeptOpen } from "../http/node-exchange.ts";
import type { PortLimits } from "./limits.ts";
import type { RefusalKind, Refusals } from "./refusal.ts";
import type { TlsMaterial } from "./tls.ts";

/** Requests of one connection that wait for their answers to be taken. Browsers pipeline none. */
const pipelinedMax = 64;

/** A listening server for HTTP/1.1, whose connections the one port looks at first. */
export function createHttp1Server(
  limits: PortLimits,
  tls: TlsMaterial | undefined,
  handler: http.RequestListener,
  refusals: Refusals,
  onRequested: OnRequested = ignore,
): http.Server | https.Server {
  const options: http.ServerOptions = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.requestTimeoutMs,
    // How often that is looked at; it ends up to this much late.
    connectionsCheckingInterval: Math.min(1000, limits.requestTimeoutMs),
    // Of bodies, limitConnections knows which may take longer.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    keepAlive: true,
    noDelay: true,
    // The gateway refuses a request without a Host itself, with an error body.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? http.createServer(options)
      : https.createServer({
          ...options,
          allowHalfOpen: true, // as the other has it
          ...tls,
          ALPNProtocols: ["h2", "http/1.1"],
          handshakeTimeout: limits.requestTimeoutMs,
        });
  // Who has sent whole requests and shuts their side gets the answers.
  Object.assign(server, { httpAllowHalfOpen: true });
  const refusing = { limits, refusals };
  const serveRequest = (request: http.IncomingMessage, response: http.ServerResponse) => {
    const socket: CountedSocket = request.socket;
    socket[underWay] ??= [];
    const responses = socket[underWay];
    if (responses.push(response) > pipelinedMax) {
      socket.destroy();
      return;
    }
    if (socket[hasRequested] !== true) {
      const note = () => {
        if (socket[hasRequested] === true) return;
        socket[hasRequested] = true;
        onRequested(socket);
      };
      request.once("end", note);
      response.once("finish", note);
    }
    socket[lastResponse] = response;
    response.on("close", () => {
      responses.splice(responses.indexOf(response), 1);
      if (request.complete) forget(response, socket);
      else if (!socket.destroyed) discardRest(request, socket);
      if (socket[isRefused] && wholeRequests(socket) === 0) socket.destroy();
    });
    // The parser takes any digits for a version.
    if (request.httpVersionMajor === 1) handler(request, response);
    else refusals.onResponse(response, "malformed");
  };
  server.on("request", serveRequest);
  server.on("checkContinue", (request, response) => {
    continueWhenRead(request, response);
    serveRequest(request, response);
  });
  server.on("timeout", endUnlessBusy);
  server.on("clientError", (error, socket) => refuseRequest(error, socket, refusing));
  // Without TLS there is no way to answer, and `end` would wait for it for ever.
  server.on("tlsClientError", (_error: Error, socket: Duplex) => socket.destroy());
  server.on("connect", (_request, socket) => refuseLast(socket, "tunnel", refusing));
  server.on("checkExpectation", (_request, response) =>
    refusals.onResponse(response, "expectation"),
  );

  return server;
}

/** Told once of each connection that has sent a whole request, or was answered. */
export type OnRequested = (socket: Socket) => void;

function ignore(): void {}

const underWay = Symbol("responses under way");
const hasRequested = Symbol("has sent a whole request, or was answered");
const lastResponse = Symbol(
  "the response to the request that came last, while one of the two goes on",
);
const isRefused = Symbol("is refused");
const late = Symbol("the response whose request has been incomplete for a while");

/** What is noted of a connection. Properties, no map: this is on the path of every request. */
interface Noted {
  [underWay]?: http.ServerResponse[];
  [hasRequested]?: boolean;
  [lastResponse]?: http.ServerResponse | undefined;
  [isRefused]?: boolean;
  [late]?: { readonly response: http.ServerResponse; readonly seenAt: number };
}

type CountedSocket = Socket &
  Noted & {
    /** Node's note that it has paused the connection until its answers are taken. */
    readonly _paused?: boolean;
  };

/** A connection that rests holds nothing of its requests. */
function forget(response: http.ServerResponse, socket: CountedSocket): void {
  if (socket[lastResponse] === response) socket[lastResponse] = undefined;
}

/**
 * What an answer did not need of its request stands before the next one (RFC 9112
 * section 9.3). Node discards it by itself unless someone began to read it, and
 * stopped: a body that is destroyed leaves its connection paused. One that Node has
 * paused, because its client takes no answers, must be left to Node: it ends the
 * process if anything is read before.
 */
function discardRest(request: http.IncomingMessage, socket: CountedSocket): void {
  (request as unknown as { _dump(): void })._dump();
  if (socket._paused !== true) socket.resume();
}

/**
 * Limits how long clients may take for the body of a request, and how long they may take nothing of
 * their answers. Looks at all connections now and then: a timer for each would be set back several
 * times a request. It strikes within an interval behind the one limit, and within twice the other.
 *
 * @returns what is to be told of each connection before the server has it.
 */
export function limitConnections(
  server: http.Server,
  limits: PortLimits,
  refusals: Refusals,
): (socket: Socket) => void {
  const { idleTimeoutMs, requestTimeoutMs } = limits;
  const sockets = new Set<CountedSocket>();
  const look = () => {
    const now = performance.now();
    for (const socket of sockets) {
      if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(idleTimeoutMs);
      const last = socket[lastResponse];
      if (last === undefined || last.req.complete || isKeptOpen(last)) continue;
      if (socket[late]?.response !== last) socket[late] = { response: last, seenAt: now };
      else if (now - socket[late].seenAt >= requestTimeoutMs) {
        refuseLast(socket, "late", { limits, refusals });
      }
    }
  };
  // A server that cannot listen never closes.
  server.once("listening", () => {
    const timer = setInterval(look, Math.min(1000, idleTimeoutMs, requestTimeoutMs));
    server.once("close", () => clearInterval(timer));
  });
  return (socket: CountedSocket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.once("end", () => {
      for (const response of socket[underWay] ?? []) clientShut(response);
    });
  };
}

/** A connection may rest while its request is at work; not while its client takes no answer. */
function endUnlessBusy(socket: CountedSocket): void {
  if (!socket[underWay]?.length || socket.writableLength > 0) socket.destroy();
}

interface Refusing {
  readonly limits: Pick<PortLimits, "idleTimeoutMs">;
  readonly refusals: Refusals;
}

/** Answers what the parser refuses, where an answer still has a place. */
function refuseRequest(error: Error & { code?: string }, socket: Duplex, refusing: Refusing): void {
  switch (error.code) {
    case "ECONNRESET":
      socket.destroy();
      break;
    case "ERR_HTTP_REQUEST_TIMEOUT": // of headers
      refuseLast(socket, "late", refusing);
      break;
    case "HPE_HEADER_OVERFLOW":
      refuseLast(socket, "oversized", refusing);
      break;
    default:
      refuseLast(socket, "malformed", refusing);
  }
}

/**
 * Refuses the request that arrives last on a connection. Answers go in the order
 * of their requests: where earlier ones are still at work, the client would take
 * the refusal for an answer of theirs, so the connection ends behind those instead.
 */
export function refuseLast(
  socket: Duplex & Noted,
  kind: RefusalKind,
  { limits, refusals }: Refusing,
): void {
  // The parser refuses all that comes behind it, too, piece by piece.
  if (socket[isRefused]) return;
  socket[isRefused] = true;
  refusals.report(kind);
  const last = socket[lastResponse];
  if (wholeRequests(socket) > 0) {
    if (last?.req.complete) last.shouldKeepAlive = false;
    // Those may have no end, or a client that takes nothing of them: no other limit holds any more.
    const cutOff = setTimeout(() => socket.destroy(), limits.idleTimeoutMs).unref();
    socket.once("close", () => clearTimeout(cutOff));
    return;
  }
  const isAnswered = last !== undefined && !last.req.complete && last.headersSent;
  if (socket.writable && !isAnswered) refusals.answerOnSocket(socket, kind);
  else socket.destroy();
}

/** Requests that have come whole, and are not answered yet: all but the last have. */
function wholeRequests(socket: Noted): number {
  const last = socket[lastResponse];
  const isLastInPart = last !== undefined && !last.req.complete && !last.closed;
  return (socket[underWay]?.length ?? 0) - (isLastInPart ? 1 : 0);
}
