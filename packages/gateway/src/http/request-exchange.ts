import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { BodyBudget } from "./body-budget.ts";
import { type BodyWriter, brokenOff, type Ending, type Head, type Response } from "./exchange.ts";
import { mergeHeaders, noUrl, onlyChunked, problemOf } from "./headers.ts";
import { createNodeWriter, NodeExchange } from "./node-exchange.ts";
import { StreamExchange } from "./stream-exchange.ts";
import { type RequestTarget, resolveUrl } from "./target.ts";
import { piecesMax, type ReadableState } from "./windows.ts";

type StockHandler = ReturnType<typeof connectNodeAdapter>;

/** A request of `node:http` or of the compatibility API of `node:http2`. */
export type NodeRequest = Parameters<StockHandler>[0];
export type NodeResponse = Parameters<StockHandler>[1];

/** A request listener for `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => void | Promise<void>;

export function exchangeFor(
  request: NodeRequest,
  response: NodeResponse,
  target: RequestTarget,
  budget?: BodyBudget,
): NodeExchange {
  return "stream" in response
    ? StreamExchange.of(request as Http2ServerRequest, response, target, budget)
    : new RequestExchange(request as IncomingMessage, response, target, budget);
}

class RequestExchange extends NodeExchange {
  declare protected readonly source: IncomingMessage;
  declare protected readonly answer: ServerResponse;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { path, query }: RequestTarget,
    budget?: BodyBudget,
  ) {
    super(request, response, budget);
    const { method = "", url: target = "", headers } = request;
    const { "content-length": length = "0", "transfer-encoding": coding } = headers;
    this.hasBody = length !== "0" || coding !== undefined;
    if (this.hasBody) request.push = pushJoined;
    this.isDuplex = false;
    this.method = method;
    this.target = target;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.url = urlOf(request) ?? "";
    // Node's parser rejects a single one that is not chunked.
    const isCoded = coding?.includes(",") === true;
    this.problem = isCoded ? onlyChunked : problemOf(this.url, request.rawHeaders);
    // Node 24 says nothing of answers that wait behind another when their connection closes.
    if (response.socket === null) {
      const socket = request.socket.setMaxListeners(0).once("close", this.close);
      response.once("close", () => socket.off("close", this.close));
    }
    // Some adapters for Lambda emit no `close`.
    else if (isStub(response.socket)) response.on("finish", this.close).on("error", this.close);
  }

  get peerAddress() {
    return this.source.socket?.remoteAddress;
  }

  override async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* super.chunks();
    } finally {
      this.source.resume(); // the next request comes after it, and Node discards only what nobody read
    }
  }

  respond(whole: Response): void {
    const { answer } = this;
    if (this.isClosed || answer.headersSent) return;
    const { body, trailer, error } = whole;
    this.outcome = error;
    const isAscii = this.#writeHead(whole);
    if (trailer !== undefined) answer.addTrailers(trailer as OutgoingHttpHeaders);
    if (this.method === "HEAD") answer.end();
    else answer.end(typeof body === "string" && !isAscii ? Buffer.from(body) : body);
    // As Node does itself, and Deno does not.
    if (this.hasBody && !this.source.readableDidRead) this.source.resume();
  }

  begin(head: Head): BodyWriter {
    const { answer } = this;
    // Node would write others in UTF-8. They leave with the first chunk.
    if (!this.isClosed && !answer.headersSent && this.#writeHead(head)) answer.flushHeaders();
    return createNodeWriter(answer, ({ body, trailer, error }: Ending) => {
      if (this.isClosed) return;
      if (trailer !== undefined) answer.addTrailers(trailer as OutgoingHttpHeaders);
      this.outcome = error;
      answer.end(body);
    });
  }

  /** @returns whether it is ASCII: Node writes headers and text together in UTF-8, but headers must be Latin-1. */
  #writeHead({ status, header }: Head): boolean {
    const { answer } = this;
    const own = this.added === undefined ? header : mergeHeaders(header, this.added);
    // Of an earlier handler. Node would replace them.
    const isSet = answer.hasHeader("vary") || answer.hasHeader("set-cookie");
    const all = isSet ? mergeHeaders(answer.getHeaders(), own) : own;
    answer.writeHead(status, all as OutgoingHttpHeaders);
    for (const name in all) if (notAscii.test(String(all[name]))) return false;
    return true;
  }

  protected get sentStatus(): number | undefined {
    return this.isAnswered ? this.answer.statusCode : undefined;
  }

  get isClosed(): boolean {
    // A failed write may be reported before the response is destroyed.
    return this.answer.destroyed || this.source.socket?.destroyed === true;
  }

  breakOff(error = brokenOff()): void {
    this.outcome = error;
    const { answer } = this;
    const { httpVersion, socket } = this.source;
    // With HTTP/1.0, a clean end of the connection ends the body. TLS detects a truncation by itself.
    if (httpVersion === "1.0" && !("encrypted" in socket)) socket.resetAndDestroy();
    else answer.destroy();
    if (isStub(answer.socket)) answer.emit("error", error);
  }

  protected get closeError(): unknown {
    const cause = this.source.errored;
    if (cause === null) return undefined;
    return new ConnectError(cause.message, Code.Aborted, undefined, undefined, cause);
  }
}

const notAscii = /[^\0-\x7f]/;

/** Of an adapter for Lambda: it never closes. The adapter waits for `finish` or `error` of the response. */
const isStub = (socket: Socket | null) => Boolean(socket) && socket?.destroyed === undefined;

/** Whether it names one host and a URL, as what is not for the gateway must, too. */
export function isAddressed(request: NodeRequest): boolean {
  return problemOf(urlOf(request) ?? "", request.rawHeaders) !== noUrl;
}

/** Undefined without a host, or a URL. HTTP/1.0 need not name a host: then `localhost`. */
function urlOf(request: NodeRequest): string | undefined {
  const { headers, url = "" } = request;
  if (request.httpVersion === "1.0") headers.host ??= "localhost";
  const scheme = "encrypted" in request.socket ? "https" : "http";
  const isHttp2 = "authority" in request;
  // Over HTTP/1.1, text is what a gateway has decoded: that of AWS, for the functions of an HTTP API.
  return resolveUrl(scheme, isHttp2 ? request.authority : headers.host, url, !isHttp2);
}

/**
 * Sends 100 (Continue) when the body of a request is first read. So a request that is rejected by
 * its headers never asks for the body (RFC 9110 section 10.1.1). For listeners of `checkContinue`
 * only: for other requests, Node has already sent it. A body that is here already gets it too, or Node
 * would close the connection, with the requests behind it.
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const { read } = request;
  request.read = (size) => {
    request.read = read;
    // What is read after the answer has begun, or is no longer possible, is discarded.
    const isClosed = "stream" in response && (response.stream.destroyed || response.stream.closed);
    if (!response.headersSent && !isClosed) response.writeContinue();
    return read.call(request, size);
  };
}

/** `push` for bodies: in chunks of a byte, 64 KiB that nobody read took 11 MiB. */
function pushJoined(this: Readable, chunk: unknown): boolean {
  const { buffer, bufferIndex: read }: ReadableState = Reflect.get(this, "_readableState");
  // Middleware may have asked for text.
  if (buffer.length > read + piecesMax && this.readableEncoding === null) {
    buffer.push(Buffer.concat(buffer.splice(read) as Buffer[]));
  }
  return Readable.prototype.push.call(this, chunk);
}
