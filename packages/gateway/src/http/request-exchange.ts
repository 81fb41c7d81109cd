import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { BodyBudget } from "./body-budget.ts";
import { type BodyWriter, brokenOff, type Ending, type Head, type Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";
import { NodeExchange, NodeWriter } from "./node-exchange.ts";
import { StreamExchange } from "./stream-exchange.ts";
import { parseOrigin } from "./target.ts";

type StockHandler = ReturnType<typeof connectNodeAdapter>;

/** A request of `node:http` or of the compatibility API of `node:http2`. */
export type NodeRequest = Parameters<StockHandler>[0];
export type NodeResponse = Parameters<StockHandler>[1];

/** A request listener for `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => void | Promise<void>;

export function exchangeFor(
  request: NodeRequest,
  response: NodeResponse,
  origin = "",
  budget?: BodyBudget,
): NodeExchange {
  return "stream" in response
    ? StreamExchange.of(request as Http2ServerRequest, response, origin, budget)
    : new RequestExchange(request as IncomingMessage, response, origin, budget);
}

/** What ends the exchanges that wait behind others, by their connection. */
const closersOf = new WeakMap<Socket, Set<() => void>>();

export class RequestExchange extends NodeExchange {
  readonly isDuplex = false;
  protected readonly source: IncomingMessage;
  protected readonly answer: ServerResponse;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    origin: string,
    budget?: BodyBudget,
  ) {
    super(origin, response, budget);
    this.source = request;
    this.answer = response;
    response.on("close", () => this.close());
    // Node 22 says nothing of answers that wait behind another when their connection closes.
    if (response.socket === null) this.#closeWith(request.socket);
  }

  #closeWith(socket: Socket): void {
    const close = () => this.close();
    let waiting = closersOf.get(socket);
    if (waiting === undefined) {
      const all = new Set<() => void>();
      waiting = all;
      closersOf.set(socket, all);
      socket.once("close", () => {
        for (const one of all) one();
      });
    }
    waiting.add(close);
    this.answer.once("close", () => waiting.delete(close));
  }

  protected get hasBody() {
    const { "content-length": length = "0", "transfer-encoding": coding } = this.source.headers;
    return length !== "0" || coding !== undefined;
  }

  get method() {
    return this.source.method ?? "";
  }

  get target() {
    return this.source.url ?? "";
  }

  get headers() {
    return this.source.headers;
  }

  get peerAddress() {
    return this.source.socket?.remoteAddress;
  }

  respond(whole: Response): void {
    if (this.isClosed || this.isAnswered) return;
    const { body, trailer, error } = whole;
    const { answer } = this;
    this.error = error;
    const header = this.#writeHead(whole);
    if (trailer !== undefined) answer.addTrailers(trailer as OutgoingHttpHeaders);
    if (this.method === "HEAD") answer.end();
    else answer.end(typeof body === "string" && !isAscii(header) ? Buffer.from(body) : body);
  }

  begin(head: Head): BodyWriter {
    const { answer } = this;
    if (!this.isClosed && !this.isAnswered) {
      // Node would write it in UTF-8. Others leave with the first chunk.
      if (isAscii(this.#writeHead(head))) answer.flushHeaders();
    }
    return new NodeWriter(answer, ({ body, trailer, error }: Ending) => {
      if (this.isClosed) return;
      if (trailer !== undefined) answer.addTrailers(trailer as OutgoingHttpHeaders);
      this.error = error;
      answer.end(body);
    });
  }

  #writeHead(head: Head): NodeHeaders {
    const header = this.headerOf(head);
    this.answer.writeHead(head.status, header as OutgoingHttpHeaders);
    return header;
  }

  get isAnswered(): boolean {
    return this.answer.headersSent;
  }

  protected get sentStatus(): number | undefined {
    return this.isAnswered ? this.answer.statusCode : undefined;
  }

  get isClosed(): boolean {
    // A failed write may be reported before the response is destroyed.
    return this.answer.destroyed || this.source.socket?.destroyed === true;
  }

  breakOff(error = brokenOff()): void {
    this.error = error;
    const { answer } = this;
    if (endsByClose(answer)) answer.req.socket.resetAndDestroy();
    else answer.destroy();
  }

  protected get closeError(): unknown {
    const cause = this.source.errored;
    if (cause === null) return undefined;
    return new ConnectError(cause.message, Code.Aborted, undefined, undefined, cause);
  }
}

/** With HTTP/1.0, a clean end of the connection ends the body. TLS detects a truncation by itself. */
function endsByClose({ req }: ServerResponse): boolean {
  return req?.httpVersion === "1.0" && !("encrypted" in req.socket);
}

/** Node writes headers and text together in UTF-8, but headers must be Latin-1. */
function isAscii(header: NodeHeaders): boolean {
  for (const name in header) {
    if (notAscii.test(String(header[name]))) return false;
  }
  return true;
}

const notAscii = /[^\0-\x7f]/;

/**
 * The normalised scheme and authority of a request. Undefined if it does not name exactly one host,
 * or no URL can be made of it and the target. HTTP/1.0 need not name a host; such a request gets
 * `localhost`.
 */
export function originOf(request: NodeRequest): string | undefined {
  const { headers, url = "" } = request;
  if (request.httpVersion === "1.0") headers.host ??= "localhost";
  const isCore = "authority" in request;
  if (!isCore && countHosts(request.rawHeaders) > 1) return undefined;
  const scheme = "encrypted" in request.socket ? "https" : "http";
  return parseOrigin(scheme, isCore ? request.authority : headers.host, url);
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/**
 * Finds a repeated field that may occur only once in a request. Node keeps the first one and
 * silently drops the others, while proxies may keep the last. Authorization and the meaning of a
 * body must not depend on that (RFC 9110 section 5.3).
 *
 * @param rawHeaders In Node's form: name, value, name, value, …
 */
export function findRepeatedField(rawHeaders: readonly string[]): string | undefined {
  let hasType = false;
  let hasAuthorization = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Runs for every request: most names have another length.
    if (name.length === contentType.length && isNamed(name, contentType)) {
      if (hasType) return "Content-Type";
      hasType = true;
    } else if (name.length === authorization.length && isNamed(name, authorization)) {
      if (hasAuthorization) return "Authorization";
      hasAuthorization = true;
    }
  }
  return undefined;
}

const contentType = "content-type";
const authorization = "authorization";

function isNamed(name: string, lowerCase: string): boolean {
  return name === lowerCase || name.toLowerCase() === lowerCase;
}

/**
 * Sends 100 (Continue) when the body of a request is first read. So a request that is rejected by
 * its headers never asks for the body (RFC 9110 section 10.1.1). For listeners of `checkContinue`
 * only: for other requests, Node has already sent it.
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!isOver(response)) response.writeContinue();
    read.call(request, size);
  };
}

/** Whether an answer has begun or is no longer possible. What is read then is discarded. */
function isOver(response: NodeResponse): boolean {
  if (response.headersSent) return true;
  return "stream" in response && (response.stream.destroyed || response.stream.closed);
}
