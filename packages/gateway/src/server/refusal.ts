/** Answers to requests that are rejected before any handler sees them. */
import { STATUS_CODES } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { Code } from "@connectrpc/connect";
import type { NodeResponse } from "../http/node.ts";
import { type RenderError, RestFailure, restErrorFrom } from "../rest/error.ts";

const failures = {
  malformed: () => new RestFailure(400, Code.InvalidArgument, "the request is not valid HTTP/1.1"),
  tunnel: () =>
    new RestFailure(405, Code.Unimplemented, "the method must be POST", { allow: "POST" }),
  late: () => new RestFailure(408, Code.DeadlineExceeded, "the request took too long to arrive"),
  expectation: () => new RestFailure(417, Code.InvalidArgument, "Expect must be 100-continue"),
  oversized: () =>
    new RestFailure(431, Code.ResourceExhausted, "the request headers are too large"),
} as const satisfies Record<string, () => RestFailure>;

export type AnsweredRefusal = keyof typeof failures;

/** `handshake`: of TLS, for which there is no answer. */
export type RefusalKind = AnsweredRefusal | "handshake";

/** Called for each refusal. */
export type OnRefusal = (kind: RefusalKind) => void;

export class Refusals {
  readonly #renderError: RenderError;
  readonly #onRefusal: OnRefusal;

  constructor(renderError: RenderError, onRefusal: OnRefusal) {
    this.#renderError = renderError;
    this.#onRefusal = onRefusal;
  }

  /** Reports a refusal whose answer is sent separately, if at all. */
  report(kind: RefusalKind): void {
    this.#onRefusal(kind);
  }

  /** Refuses a request that has a response object. */
  onResponse(response: NodeResponse, kind: AnsweredRefusal): void {
    this.report(kind);
    const { status, header, body } = this.#render(kind);
    response.writeHead(status, header);
    response.end(body);
  }

  /** Refuses a request that has only an HTTP/2 stream. */
  onStream(stream: ServerHttp2Stream, kind: AnsweredRefusal): void {
    this.report(kind);
    const { status, header, body } = this.#render(kind);
    stream.respond({ ":status": status, ...header });
    stream.end(body);
  }

  /** Answers on the socket of an HTTP/1.1 connection, and closes it. */
  answerOnSocket(socket: Duplex, kind: AnsweredRefusal): void {
    const { status, header, body } = this.#render(kind);
    const lines = Object.entries({ ...header, connection: "close" });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () =>
      socket.destroy(),
    );
  }

  #render(kind: AnsweredRefusal) {
    const failure = failures[kind]();
    const rendered = this.#renderError(restErrorFrom(failure));
    const body = JSON.stringify(rendered.body);
    const length = String(Buffer.byteLength(body));
    const { status, contentType = "application/json" } = rendered;
    const type = { "content-type": contentType, "content-length": length };
    return { status, header: { ...type, ...failure.header }, body };
  }
}
