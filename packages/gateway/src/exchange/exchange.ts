import type { IncomingHttpHeaders } from "node:http";
import type { Code } from "@connectrpc/connect";
import type { Body } from "./body.ts";
import type { NodeHeaders } from "./lazy-headers.ts";

/** One HTTP request and the response to it, over either version of HTTP. */
export interface Exchange {
  readonly method: string;
  /** The request target, raw: path and query. */
  readonly target: string;
  /** As Node gives them: lower-case names. Pseudo-headers may be among them. */
  readonly headers: IncomingHttpHeaders;
  /** Scheme and authority that the request goes to, `http://localhost:8080`. */
  readonly origin: string;
  /** The address at the other end of the connection; undefined once it is gone. */
  readonly peerAddress: string | undefined;

  /**
   * Reads the body, from now on, into a sink.
   *
   * @returns what the sink makes of it.
   * @throws what the sink throws, which ends the reading; a ClientGoneError if
   * the client leaves.
   */
  readBody<T>(sink: BodySink<T>): Promise<T>;

  /** Adds to the headers of the answer that is to come. */
  addHeader(header: Readonly<Record<string, string>>): void;

  /** Answers, unless the client has gone. */
  respond(response: Response): void;

  /** Whether the head of an answer is on its way. */
  readonly isAnswered: boolean;

  /** The status of the answer, once its head is on its way. */
  readonly status: number | undefined;

  /**
   * What the client has got: the code of an error, undefined for success.
   * `Canceled` until there is an answer.
   */
  readonly code: Code | undefined;

  /** Whether nobody is left to hear the answer. */
  readonly isClosed: boolean;

  /** What ended the exchange, where it was an error. */
  readonly closeReason: unknown;

  /** Ends an answer that cannot go on, so that nobody takes what there is for the whole. */
  breakOff(): void;

  /** The one that is aborted when the exchange is over, with an error where one ended it. */
  call: Abortable | undefined;
}

/** What can be given up. */
export interface Abortable {
  abort(reason: unknown): void;
}

/** What a body is read into. */
export interface BodySink<T> {
  push(chunk: Uint8Array): void;
  /** The body is whole. */
  end(): T | Promise<T>;
}

/** A whole response, written at once. */
export interface Response {
  readonly status: number;
  readonly header: NodeHeaders;
  readonly body: Body;
  /** HTTP trailers, for what has a place for them. */
  readonly trailer?: NodeHeaders;
  /** What the answer says has failed; absent for success. */
  readonly code?: Code | undefined;
}

/** The value of a header, given its lower-case name; null if it is not there. */
export function headerOf({ headers }: Exchange, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value).trim();
}
