import type { OutgoingHttpHeaders } from "node:http";
import http2 from "node:http2";
import type { BodyBudget } from "./body-budget.ts";
import { type BodyWriter, brokenOff, type Ending, type Head, type Response } from "./exchange.ts";
import { fitFields, mergeHeaders, type NodeHeaders, problemOf } from "./headers.ts";
import { createNodeWriter, NodeExchange } from "./node-exchange.ts";
import { resetReason } from "./session.ts";
import { type RequestTarget, resolveUrl } from "./target.ts";

/** An exchange over Node's core API of HTTP/2, at half the cost of the compatibility API. */
export class StreamExchange extends NodeExchange {
  declare protected readonly answer: http2.ServerHttp2Stream;
  /** Handlers around this one may log its status, and set headers until the answer begins. */
  declare private response:
    | Pick<http2.Http2ServerResponse, "statusCode" | "getHeaders">
    | undefined;

  constructor(
    stream: http2.ServerHttp2Stream,
    headers: http2.IncomingHttpHeaders,
    rawHeaders: readonly string[],
    { path, query }: RequestTarget,
    budget?: BodyBudget,
  ) {
    super(stream, stream, budget);
    const { ":method": method = "", ":path": target = "", ":authority": authority } = headers;
    const scheme = stream.session?.encrypted === true ? "https" : "http";
    this.hasBody = !stream.endAfterHeaders;
    this.isDuplex = true;
    this.method = method;
    this.target = target;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.url = resolveUrl(scheme, authority ?? headers.host, target) ?? "";
    this.problem = problemOf(this.url, rawHeaders);
    this.response = undefined;
    stream.on("error", () => {}); // it would end the process; the close event reports it
  }

  /** Of the compatibility API, whose request reads the body of the stream. */
  static of(
    request: http2.Http2ServerRequest,
    response: Pick<http2.Http2ServerResponse, "stream" | "getHeaders" | "statusCode">,
    target: RequestTarget,
    budget?: BodyBudget,
  ): StreamExchange {
    const { stream } = response;
    // An earlier handler may have rewritten them.
    const headers = { ...request.headers, ":path": request.url, ":method": request.method };
    const exchange = new StreamExchange(stream, headers, request.rawHeaders, target, budget);
    exchange.source = request;
    exchange.response = response;
    stream.removeAllListeners("wantTrailers"); // the response would send its own
    return exchange;
  }

  get peerAddress() {
    return this.answer.session?.socket.remoteAddress;
  }

  respond(response: Response): void {
    const stream = this.answer;
    const { body, trailer } = response;
    if (this.isClosed || stream.headersSent) return;
    const head = this.#headOf(response);
    if (trailer !== undefined) {
      stream.respond(head, { waitForTrailers: true });
      const last = this.#fitting(trailer);
      stream.on("wantTrailers", () => stream.sendTrailers(last));
      stream.end(body);
    } else {
      const endStream = this.method === "HEAD" || body.length === 0;
      stream.respond(head, { endStream });
      if (!endStream) stream.end(body);
    }
    this.outcome = response.error;
    if (!stream.readableEnded) leaveRequest(stream);
  }

  begin(head: Head): BodyWriter {
    const stream = this.answer;
    let last: OutgoingHttpHeaders = {};
    if (!this.isClosed && !stream.headersSent) {
      stream.respond(this.#headOf(head), { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers(last)); // if none, an empty frame
    }
    return createNodeWriter(stream, ({ body, error, ...ending }: Ending) => {
      if (this.isClosed) return;
      last = this.#fitting(ending.trailer ?? {});
      this.outcome = error;
      stream.end(body);
      leaveRequest(stream);
    });
  }

  #headOf(head: Head): OutgoingHttpHeaders {
    const { response } = this;
    const header = this.added === undefined ? head.header : mergeHeaders(head.header, this.added);
    const all = response === undefined ? header : mergeHeaders(response.getHeaders(), header);
    if (response !== undefined) response.statusCode = head.status;
    return this.#fitting({ ":status": head.status, ...all });
  }

  /** Headers or trailers as the stream can send them. */
  #fitting(fields: NodeHeaders): OutgoingHttpHeaders {
    const announced = this.answer.session?.remoteSettings?.maxHeaderListSize ?? fieldBytesMax;
    return fitFields(fields, Math.min(announced, fieldBytesMax), (names) => {
      const before = this.omission === undefined ? tooLong : `${this.omission.message},`;
      this.omission = new Error(`${before} ${names}`);
    }) as OutgoingHttpHeaders;
  }

  protected get sentStatus(): number | undefined {
    const status = this.answer.sentHeaders?.[":status"];
    return status === undefined ? undefined : Number(status);
  }

  get isClosed(): boolean {
    return this.answer.destroyed || this.answer.closed;
  }

  protected get closeError(): unknown {
    return resetReason(this.answer.rstCode);
  }

  breakOff(error = brokenOff()): void {
    this.outcome = error;
    this.answer.uncork(); // else what was just written is lost, and the head
    // INTERNAL_ERROR. On Bun, `close` would end the answer as if it were whole.
    this.answer.destroy(error);
  }
}

const tooLong = "an answer was too long for HTTP/2: left out";

/** More than 64 KiB in one block of fields, nghttp2 does not send: it resets the stream. */
const fieldBytesMax = 64 * 1024 - 64;

/**
 * Ends a stream whose answer did not need the rest of the request, without an error (RFC 9113 section
 * 8.1). Waits until the end of the answer has been sent, because a reset would overtake it.
 */
export function leaveRequest(stream: http2.ServerHttp2Stream): void {
  if (leaving.push(stream) === 1) setTimeout(leaveSent, leaveIntervalMs).unref();
}

/** Those whose answer may not have been sent yet. */
const leaving: http2.ServerHttp2Stream[] = [];

/** How often to check whether an answer has been sent. Node has no event for it. */
const leaveIntervalMs = 10;

/** A flood of refused requests is left in several turns of the event loop. */
const leftAtOnce = 64;

function leaveSent(): void {
  const some = leaving.splice(0, Math.max(leftAtOnce, leaving.length >> 2));
  const unsent = some.filter((stream) => !isLeft(stream));
  leaving.push(...unsent);
  if (leaving.length === 0) return;
  if (unsent.length < some.length) setImmediate(leaveSent);
  else setTimeout(leaveSent, leaveIntervalMs).unref();
}

function isLeft(stream: http2.ServerHttp2Stream): boolean {
  if (stream.destroyed || stream.readableEnded) return true;
  // One that nghttp2 has forgotten has no state.
  if (!stream.closed && stream.state.localClose !== 1) return false;
  stream.close(http2.constants.NGHTTP2_NO_ERROR);
  // Node waits for someone to read the received part of the request. Until then, it keeps the
  // session of a client open that has sent GOAWAY, possibly forever.
  stream.destroy();
  return true;
}
