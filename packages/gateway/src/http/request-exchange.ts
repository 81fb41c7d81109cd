import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import { withoutConnection } from "./connection-headers.ts";
import type { BodySink, Exchange, Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";
import { NodeExchange } from "./node-exchange.ts";
import type { NodeHandler } from "./node-handler.ts";
import { resetReason } from "./reset-reason.ts";
import { bodyAlreadyRead } from "./unread-body.ts";

/**
 * An exchange over Node's request and response: HTTP/1.1, or HTTP/2 through the compatibility API.
 */
export class RequestExchange extends NodeExchange implements Exchange {
  readonly #request: Parameters<NodeHandler>[0];
  readonly #response: Parameters<NodeHandler>[1];

  constructor([request, response]: Parameters<NodeHandler>, origin: string) {
    super(origin);
    this.#request = request;
    this.#response = response;
    response.on("close", () => this.close());
  }

  get method() {
    return this.#request.method ?? "";
  }

  get target() {
    return this.#request.url ?? "";
  }

  get headers() {
    return this.#request.headers;
  }

  get peerAddress() {
    return this.#request.socket.remoteAddress;
  }

  addHeader(header: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(header)) this.#response.setHeader(name, value);
  }

  protected get source(): Readable {
    return this.#request;
  }

  override readBody<T>(sink: BodySink<T>): Promise<T> {
    const error = bodyAlreadyRead(this.#request);
    return error === undefined ? super.readBody(sink) : Promise.reject(error);
  }

  respond({ status, header, body, trailer, code }: Response): void {
    const response = this.#response;
    if (this.isClosed || this.isAnswered) return;
    const vary = response.getHeader("vary"); // set by CORS; writing ours would replace it
    const isMerged = vary !== undefined && header["vary"] !== undefined;
    const merged = isMerged ? { ...header, vary: `${header["vary"]}, ${vary}` } : header;
    writeHead(response, status, merged);
    if (trailer !== undefined) addTrailers(response, trailer);
    if (this.method === "HEAD") response.end();
    else response.end(typeof body === "string" && !isAscii(merged) ? Buffer.from(body) : body);
    this.code = code;
  }

  get isAnswered(): boolean {
    return this.#response.headersSent;
  }

  get status(): number | undefined {
    return this.isAnswered ? this.#response.statusCode : undefined;
  }

  get isClosed(): boolean {
    const response = this.#response;
    if ("stream" in response) return response.stream.destroyed || response.stream.closed;
    // A failed write may be reported before the response is destroyed.
    return response.destroyed || response.req.socket.destroyed;
  }

  breakOff(): void {
    this.code = Code.Internal;
    const response = this.#response;
    if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (endsByClose(response)) response.req.socket.resetAndDestroy();
    else response.destroy();
  }

  get closeReason(): unknown {
    const request = this.#request;
    if ("stream" in request) return resetReason(request.stream.rstCode);
    const cause = request.errored;
    if (cause === null) return undefined;
    return new ConnectError(cause.message, Code.Aborted, undefined, undefined, cause);
  }
}

/**
 * With HTTP/1.0, a clean end of the connection ends the body. TLS detects a truncation by itself.
 */
function endsByClose({ req }: ServerResponse): boolean {
  return req.httpVersion === "1.0" && !("encrypted" in req.socket);
}

/** Node writes headers and text together in UTF-8, but headers must be Latin-1. */
function isAscii(header: NodeHeaders): boolean {
  for (const name in header) {
    const value = header[name];
    if (typeof value !== "number" && notAscii.test(String(value))) return false;
  }
  return true;
}

const notAscii = /[^\0-\x7f]/;

/** The two kinds of response share a method, but with different signatures. */
function writeHead(
  response: Parameters<NodeHandler>[1],
  status: number,
  header: Response["header"],
): void {
  if ("stream" in response) response.writeHead(status, withoutConnection(header));
  else response.writeHead(status, header);
}

function addTrailers(response: Parameters<NodeHandler>[1], trailer: NodeHeaders): void {
  const allowed = "stream" in response ? withoutConnection(trailer) : trailer;
  response.addTrailers(allowed as Record<string, string>);
}
