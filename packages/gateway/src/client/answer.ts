/** What the head and the end of an answer say: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus, findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { LazyHeaders } from "../http/headers.ts";
import { resetReason } from "../http/reset-reason.ts";
import type { CallLimit } from "./call-limit.ts";
import type { Connection } from "./connection.ts";

export type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** A call on its way: the same call may take several. */
export interface Attempt {
  readonly connection: Connection;
  readonly stream: ClientHttp2Stream;
  /** Set with the first headers. A server that has answered has looked at the call, whatever it says then. */
  isAnswered: boolean;
}

/** An error that a server has answered, with what came before and behind its messages. */
export class AnswerError extends ConnectError {
  readonly header: Headers;
  readonly trailer: Headers;

  constructor(error: ConnectError, { header, trailer }: Pick<AnswerError, "header" | "trailer">) {
    super(error.rawMessage, error.code, error.metadata, undefined, error.cause);
    this.details = error.details;
    this.isWireError = true;
    this.header = header;
    this.trailer = trailer;
  }

  /** That of ConnectError takes all that look like one. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && Object.getPrototypeOf(value) === AnswerError.prototype;
  }
}

/** Why an answer is none, by its head alone; undefined if it may be one. */
export function headError(head: Head): AnswerError | undefined {
  const { ":status": status = 0, "content-type": type = "no content type" } = head;
  if (status === 200 && grpcType.test(type)) return undefined;
  // An answer without a body may have a status of gRPC all the same.
  if (head["grpc-status"] !== undefined) return statusError(head, head);
  const message = `HTTP status ${status} with ${type}, which is not gRPC`;
  return answerError(new ConnectError(message, codeFromHttpStatus(status)), head, {});
}

const grpcType = /^application\/grpc(?:$|[+;])/;

/** The error that trailers tell of; undefined for success. An answer may have nothing but trailers. */
export function statusError(head: Head, trailer: IncomingHttpHeaders): AnswerError | undefined {
  const status = trailer["grpc-status"];
  if (status === "0") return undefined;
  const first = head === trailer ? {} : head;
  return answerError(readStatus(trailer), first, trailer);
}

function readStatus(trailer: IncomingHttpHeaders): ConnectError {
  const status = trailer["grpc-status"] ?? "none";
  const unreadable = `an answer without a gRPC status that can be read (${status})`;
  try {
    const error = findTrailerError(new LazyHeaders(trailer));
    return error ?? new ConnectError(unreadable, Code.Unknown);
  } catch (cause) {
    return new ConnectError(unreadable, Code.Unknown, undefined, undefined, cause);
  }
}

function answerError(error: ConnectError, head: Head, end: IncomingHttpHeaders): AnswerError {
  const [header, trailer] = [new LazyHeaders(head), new LazyHeaders(end)];
  const { rawMessage, code, details, cause } = error;
  const whole = new ConnectError(rawMessage, code, [...header, ...trailer], undefined, cause);
  return new AnswerError(Object.assign(whole, { details }), { header, trailer });
}

/** A server that reads on has taken the rest by then. Resets at once, of many calls, would look like an attack. */
const takenWithinMs = 1000;

/** Ends a stream that was answered, if its server neither takes the rest of the request nor says so. */
export function leaveUntaken(stream: ClientHttp2Stream): void {
  if (stream.writableFinished) return;
  setTimeout(() => {
    if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL);
  }, takenWithinMs).unref();
}

/** Why a stream has ended whose answer has not. */
export function brokenOff(
  connection: Connection,
  stream: ClientHttp2Stream,
  { head, limit }: { readonly head: Head | undefined; readonly limit: CallLimit },
): ConnectError {
  const { errored } = stream;
  if (errored instanceof ConnectError) return errored;
  const reset = connection.isLost ? undefined : resetReason(stream.rstCode);
  // So servers of grpc-go end a call whose deadline passes.
  if (reset?.code === Code.Canceled && limit.error !== undefined) return limit.error;
  if (reset !== undefined) return Object.assign(reset, { cause: errored });
  const what =
    head === undefined || connection.isLost
      ? "the connection was lost"
      : "the answer ended without a gRPC status";
  return new ConnectError(what, Code.Unavailable, undefined, undefined, errored);
}
