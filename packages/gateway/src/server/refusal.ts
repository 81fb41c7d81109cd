/** Answers to requests that are rejected before any handler sees them. */
import { type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex, Writable } from "node:stream";
import { Code } from "@connectrpc/connect";
import { errorResponse, type RenderError, RestFailure } from "../errors/http-error.ts";
import { plainAddress } from "../http/address-key.ts";
import { refuseCall } from "../http/node-exchange.ts";
import type { NodeResponse } from "../http/request-exchange.ts";

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

/** A request, or a connection, that was rejected by the rules of HTTP. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly error: RestFailure | undefined;
  /** The HTTP status of the answer; undefined if none is possible. */
  readonly status: number | undefined;
  readonly peerAddress: string | undefined;
  /** Whether it is a call, which observers of calls see. */
  readonly isCall: boolean;
}

export type OnRefusal = (refusal: Refusal) => void;

export class Refusals {
  /** How long a connection may take to end. */
  readonly idleTimeoutMs: number;
  readonly #renderError: RenderError;
  readonly #onRefusal: OnRefusal;

  constructor(idleTimeoutMs: number, renderError: RenderError, onRefusal: OnRefusal) {
    this.idleTimeoutMs = idleTimeoutMs;
    this.#renderError = renderError;
    this.#onRefusal = onRefusal;
  }

  ofHandshake({ remoteAddress }: Socket): void {
    const nothing = { error: undefined, status: undefined, isCall: false };
    const peerAddress = plainAddress(remoteAddress);
    this.#onRefusal({ kind: "handshake", peerAddress, ...nothing });
  }

  /**
   * Reports a refusal whose answer is sent separately.
   * @param answer To the request that it is part of, if its head was complete.
   * @param canAnswer Whether the client gets the refusal.
   */
  report(
    kind: AnsweredRefusal,
    socket: Duplex | undefined,
    { answer, canAnswer = true }: { answer?: Writable | undefined; canAnswer?: boolean } = {},
  ): RestFailure {
    const error = failures[kind]();
    const status = canAnswer ? error.status : undefined;
    const isCall = answer !== undefined && refuseCall(answer, { error, status });
    const peerAddress = plainAddress((socket as Socket | undefined)?.remoteAddress);
    this.#onRefusal({ kind, error, status, peerAddress, isCall });
    return error;
  }

  onResponse(response: NodeResponse, kind: AnsweredRefusal): void {
    const { status, header, body } = this.#render(this.report(kind, response.req.socket));
    response.writeHead(status, header);
    response.end(body);
  }

  onStream(stream: ServerHttp2Stream, kind: AnsweredRefusal): void {
    const { status, header, body } = this.#render(
      this.report(kind, stream.session?.socket, { answer: stream }),
    );
    stream.respond({ ":status": status, ...header });
    stream.end(body);
  }

  /** Answers on the socket of an HTTP/1.1 connection, and closes it. */
  answerOnSocket(socket: Duplex, error: RestFailure): void {
    const { status, header, body } = this.#render(error);
    const lines = Object.entries({ ...header, connection: "close" });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () =>
      socket.destroy(),
    );
  }

  #render(failure: RestFailure) {
    const { status, header, body } = errorResponse(failure, { renderError: this.#renderError });
    return { status, header: header as OutgoingHttpHeaders, body };
  }
}
