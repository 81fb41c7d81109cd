import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { withoutConnection } from "./connection-headers.ts";
import type { Exchange, Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";
import { NodeExchange } from "./node-exchange.ts";
import { resetReason } from "./reset-reason.ts";

/**
 * An exchange over an HTTP/2 stream with Node's core API, at half the cost of the compatibility
 * API.
 */
export class StreamExchange extends NodeExchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  #added: NodeHeaders | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, origin: string) {
    super(origin);
    this.#stream = stream;
    this.headers = headers;
    // Without a listener, the error of one stream would end the process. The close event reports
    // the rest.
    stream.on("error", ignore);
    stream.on("close", () => this.close());
  }

  get method() {
    return this.headers[":method"] ?? "";
  }

  get target() {
    return this.headers[":path"] ?? "";
  }

  get peerAddress() {
    return this.#stream.session?.socket.remoteAddress;
  }

  addHeader(header: Readonly<Record<string, string>>): void {
    this.#added = { ...this.#added, ...header };
  }

  protected get source() {
    return this.#stream;
  }

  respond({ status, header, body, trailer, code }: Response): void {
    const stream = this.#stream;
    if (this.isClosed || this.isAnswered) return;
    const head = { ":status": status, ...withoutConnection(header), ...this.#added };
    if (trailer !== undefined) {
      stream.respond(head, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers(withoutConnection(trailer)));
      stream.end(body);
    } else if (this.method === "HEAD" || body.length === 0) {
      stream.respond(head, { endStream: true });
    } else {
      stream.respond(head);
      stream.end(body);
    }
    this.code = code;
    if (!stream.readableEnded) leaveRequest(stream);
  }

  get isAnswered(): boolean {
    return this.#stream.headersSent;
  }

  get status(): number | undefined {
    const status = this.#stream.sentHeaders?.[":status"];
    return status === undefined ? undefined : Number(status);
  }

  get isClosed(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  get closeReason(): unknown {
    return resetReason(this.#stream.rstCode);
  }

  breakOff(): void {
    this.code = Code.Internal;
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/**
 * Ends a stream whose answer did not need the rest of the request, without an error, so that the
 * client stops sending (RFC 9113 section 8.1). Waits until the end of the answer has been sent,
 * because a reset would overtake it.
 */
export function leaveRequest(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.readableEnded) return;
  if (stream.state.localClose !== 1) {
    setTimeout(() => leaveRequest(stream), leaveIntervalMs).unref();
    return;
  }
  stream.close(constants.NGHTTP2_NO_ERROR);
  // Node waits for someone to read the received part of the request. Until then, it keeps the
  // session of a client open that has sent GOAWAY, possibly forever.
  stream.destroy();
}

/** How often to check whether an answer has been sent. Node has no event for it. */
const leaveIntervalMs = 10;

function ignore(): void {}
