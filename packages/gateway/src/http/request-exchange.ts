import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { BodyBudget } from "./body-budget.ts";
import { type BodyWriter, brokenOff, type Ending, type Head, type Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";
import { NodeExchange, NodeWriter } from "./node-exchange.ts";

/** What ends the exchanges that wait behind others, by their connection. */
const closersOf = new WeakMap<Socket, Set<() => void>>();

/** An exchange over HTTP/1.1. */
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
