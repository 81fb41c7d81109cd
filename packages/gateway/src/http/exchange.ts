import { Code, ConnectError } from "@connectrpc/connect";
import type { Holding } from "./body-budget.ts";
import type { NodeHeaders, RequestHeaders } from "./headers.ts";
import type { RequestTarget } from "./target.ts";

/** One HTTP request and its response: over Node's HTTP/1.1 or HTTP/2, or by fetch. */
export interface Exchange extends RequestTarget {
  readonly method: string;
  /** The request target, raw: path and query. */
  readonly target: string;
  /** In Node's form, with lower-case names. May include pseudo-headers. */
  readonly headers: RequestHeaders;
  /** Normalised; empty if the request has none, which is its `problem`. */
  readonly url: string;
  /** Why the head of the request is invalid. */
  readonly problem: string | undefined;
  /** The peer address of the connection; undefined once it is closed. */
  readonly peerAddress: string | undefined;
  /** Whether both sides can send at the same time: not over HTTP/1.1. */
  readonly isDuplex: boolean;
  readonly hasTrailers: boolean;
  /** Names the headers and trailers that were left out of the answer, as too long for it. */
  readonly omission?: Error | undefined;
  /** Counts the bytes that it holds; undefined for no limit. */
  readonly holding: Holding | undefined;
  readonly isAnswered: boolean;
  readonly status: number | undefined;
  /** Undefined for success. `Canceled` until there is an answer, and for a client that has left. */
  readonly error: ConnectError | undefined;
  /** Whether the client has shut its sending side: its call is cancelled, but may be answered. */
  readonly hasLeft: boolean;
  /** Whether the client can no longer receive an answer. */
  readonly isClosed: boolean;
  /** The error that ended the exchange, if there was one. */
  readonly closeReason: unknown;
  /** Whether the request has no time limit: its messages may come as long as the call lasts. */
  isKept: boolean;
  /** Aborted when the client leaves, and when the exchange ends, with the error if there was one. */
  call: Abortable | undefined;
  /**
   * Reads the body into a sink, starting now. The request itself counts until the body is whole,
   * which limits requests whose bodies never arrive: a sink counts only bytes beyond `requestBytes`.
   * @throws what the sink throws, which stops the reading; {ConnectError} CANCELED if the client leaves.
   */
  readBody<T>(sink: BodySink<T>): Promise<T>;
  /** Rejects `readBody`, if it is under way. */
  stopReading(reason: unknown): void;
  /** The body as it arrives. @throws {ConnectError} CANCELED if the client leaves. */
  chunks(): AsyncIterable<Uint8Array>;
  addHeader(header: NodeHeaders): void;
  /** Answers as a whole, unless the client has left. */
  respond(response: Response): void;
  /** Begins an answer in chunks: sends its head. */
  begin(head: Head): BodyWriter;
  /** Aborts an answer, so that it is not taken for complete. @param error Default: internal. */
  breakOff(error?: ConnectError): void;
}

export type Abortable = Pick<AbortController, "abort">;

/** A body before it is written. JSON stays text until then, because Node writes text faster. */
export type Body = Uint8Array | string;

export interface BodySink<T> {
  /** @returns what resolves when it may get more; undefined for at once. */
  push(chunk: Uint8Array): Promise<void> | undefined;
  end(): T | Promise<T>;
}

export interface Head {
  readonly status: number;
  readonly header: NodeHeaders;
}

export interface Response extends Head, Ending {
  readonly body: Body;
}

export interface Ending {
  readonly body?: Body;
  readonly trailer?: NodeHeaders;
  /** The error that the answer reports; absent for success. */
  readonly error?: ConnectError | undefined;
}

export interface BodyWriter {
  /** @returns undefined if there is room for more; else what resolves when there is. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  end(ending: Ending): void;
}

export function brokenOff(): ConnectError {
  return new ConnectError("the answer was broken off", Code.Internal);
}

/** The value of a header, by its lower-case name; null if it is missing. */
export function headerOf({ headers }: Pick<Exchange, "headers">, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value);
}
