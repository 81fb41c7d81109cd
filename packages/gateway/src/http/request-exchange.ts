import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Body, BodyAlreadyReadError } from "./body.ts";
import type { BodyBudget } from "./body-budget.ts";
import type { BodyWriter, Ending, Head, Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";
import type { NodeRequest, NodeResponse } from "./node.ts";
import { NodeExchange, NodeWriter } from "./node-exchange.ts";
import { resetReason } from "./reset-reason.ts";

/** What ends the exchanges that wait behind others, by their connection. */
const closersOf = new WeakMap<Socket, Set<() => void>>();

/**
 * An exchange over Node's request and response: HTTP/1.1, or HTTP/2 through the compatibility API.
 */
export class RequestExchange extends NodeExchange {
  readonly #request: NodeRequest;
  readonly #response: NodeResponse;

  constructor(request: NodeRequest, response: NodeResponse, origin: string, budget?: BodyBudget) {
    super(origin, "stream" in response ? response.stream : response, budget);
    this.#request = request;
    this.#response = response;
    response.on("close", () => this.close());
    // Node 22 says nothing of answers that wait behind another when their connection closes.
    if (!("stream" in response) && response.socket === null) this.#closeWith(request.socket);
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
    this.#response.once("close", () => waiting.delete(close));
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
    return this.#request.socket?.remoteAddress;
  }

  get isDuplex() {
    return "stream" in this.#response;
  }

  protected get source(): Readable {
    return this.#request;
  }

  protected get answer(): Writable {
    const response = this.#response;
    return "stream" in response ? response.stream : response;
  }

  override readBody<T>(sink: Parameters<NodeExchange["readBody"]>[0] & { end(): T | Promise<T> }) {
    const { readableDidRead } = this.#request;
    return readableDidRead ? Promise.reject(new BodyAlreadyReadError()) : super.readBody<T>(sink);
  }

  override async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.#request.readableDidRead) throw new BodyAlreadyReadError();
    yield* super.chunks();
  }

  respond(answer: Response): void {
    if (this.isClosed || this.isAnswered) return;
    const { status, body, trailer, code } = answer;
    this.code = code;
    const response = this.#response;
    if ("stream" in response && body.length === 0 && trailer === undefined) {
      // Its head is its end: that is how a client of gRPC tells a status from headers.
      const head = { ":status": status, ...this.headerOf(answer) };
      response.stream.respond(this.forHttp2(head, response.stream), { endStream: true });
      return;
    }
    const header = this.#writeHead(answer);
    if (trailer !== undefined) this.#addTrailers(trailer);
    if (this.method === "HEAD") this.#end();
    else this.#end(typeof body === "string" && !isAscii(header) ? Buffer.from(body) : body);
  }

  begin(head: Head): BodyWriter {
    if (!this.isClosed && !this.isAnswered) {
      const isPlain = isAscii(this.#writeHead(head));
      // Node would write it in UTF-8. Others leave with the first chunk.
      if (isPlain && !("stream" in this.#response)) this.#response.flushHeaders();
    }
    return new NodeWriter(this.answer, ({ body, trailer, code }: Ending) => {
      if (this.isClosed) return;
      if (trailer !== undefined) this.#addTrailers(trailer);
      this.code = code;
      this.#end(body);
    });
  }

  #writeHead(head: Head): NodeHeaders {
    const response = this.#response;
    const header = this.headerOf(head);
    if ("stream" in response)
      response.writeHead(head.status, this.forHttp2(header, response.stream));
    else response.writeHead(head.status, header as OutgoingHttpHeaders);
    return header;
  }

  /** The two kinds of response share the method, with different signatures. */
  #end(body?: Body): void {
    const response: { end(body?: Body): unknown } = this.#response;
    response.end(body);
  }

  #addTrailers(trailer: NodeHeaders): void {
    const response = this.#response;
    if ("stream" in response) response.addTrailers(this.forHttp2(trailer, response.stream));
    else response.addTrailers(trailer as OutgoingHttpHeaders);
  }

  get isAnswered(): boolean {
    return this.#response.headersSent;
  }

  get status(): number | undefined {
    if (!this.isAnswered) return undefined;
    const response = this.#response;
    return "stream" in response
      ? Number(response.stream.sentHeaders?.[":status"])
      : response.statusCode;
  }

  get isClosed(): boolean {
    const response = this.#response;
    if ("stream" in response) return response.stream.destroyed || response.stream.closed;
    // A failed write may be reported before the response is destroyed.
    return response.destroyed || this.#request.socket?.destroyed === true;
  }

  breakOff(code = Code.Internal): void {
    this.code = code;
    const response = this.#response;
    if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (endsByClose(response)) response.req.socket.resetAndDestroy();
    else response.destroy();
  }

  protected get closeError(): unknown {
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
  return req?.httpVersion === "1.0" && !("encrypted" in req.socket);
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
