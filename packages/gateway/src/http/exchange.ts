import type { IncomingHttpHeaders } from "node:http";
import type { Code } from "@connectrpc/connect";
import type { Body } from "./body.ts";
import type { NodeHeaders } from "./headers.ts";

/** One HTTP request and its response, over HTTP/1.1 or HTTP/2. */
export interface Exchange {
  readonly method: string;
  /** The request target, raw: path and query. */
  readonly target: string;
  /** In Node's form, with lower-case names. May include pseudo-headers. */
  readonly headers: IncomingHttpHeaders;
  /** Scheme and authority of the request, for example `http://localhost:8080`. */
  readonly origin: string;
  /** The peer address of the connection; undefined once it is closed. */
  readonly peerAddress: string | undefined;

  /**
   * Reads the body into a sink, starting now.
   *
   * @returns the result of the sink.
   * @throws what the sink throws, which stops the reading; a ClientGoneError if the client leaves.
   */
  readBody<T>(sink: BodySink<T>): Promise<T>;

  /** Adds headers to the answer before it is sent. */
  addHeader(header: Readonly<Record<string, string>>): void;

  /** Answers, unless the client has left. */
  respond(response: Response): void;

  /** Whether the answer's headers have been sent. */
  readonly isAnswered: boolean;

  /** The status of the answer, once its headers have been sent. */
  readonly status: number | undefined;

  /**
   * The result for the client: the code of an error, undefined for success. `Canceled` until there
   * is an answer.
   */
  readonly code: Code | undefined;

  /** Whether the client can no longer receive an answer. */
  readonly isClosed: boolean;

  /** The error that ended the exchange, if there was one. */
  readonly closeReason: unknown;

  /**
   * Aborts an answer that cannot continue, so that the client does not mistake it for a complete
   * one.
   */
  breakOff(): void;

  /** Aborted when the exchange ends, with the error if there was one. */
  call: Abortable | undefined;
}

/** Something that can be aborted. */
export interface Abortable {
  abort(reason: unknown): void;
}

/** Receives a body. */
export interface BodySink<T> {
  push(chunk: Uint8Array): void;
  /** Called at the end of the body. */
  end(): T | Promise<T>;
}

/** A complete response, written at once. */
export interface Response {
  readonly status: number;
  readonly header: NodeHeaders;
  readonly body: Body;
  /** HTTP trailers, for protocols that support them. */
  readonly trailer?: NodeHeaders;
  /** The error code of the answer; absent for success. */
  readonly code?: Code | undefined;
}

/** The value of a header, by its lower-case name; null if it is missing. */
export function headerOf({ headers }: Exchange, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value).trim();
}
