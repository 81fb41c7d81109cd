/** What becomes of an error that ends a call. */
import { Code, ConnectError } from "@connectrpc/connect";
import { withBadRequest } from "./rule-violations.ts";
import type { Cancellation } from "./signal.ts";

export interface ErrorListener {
  /** Told once of each call that fails by an error which is no ConnectError. */
  readonly onError?: (error: unknown) => void;
}

/** Told by default, as connectNodeAdapter does. */
export function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: the default of a library without a logger
  console.error(error);
}

/**
 * The error that ends a call. Tells of it if nobody meant it for a client. What is thrown once the
 * call is given up is mostly because of that, as the AbortError of a query: its deadline or the
 * shutdown is what the client hears of then, and nobody is told.
 *
 * @param cancellation Must not have heard of the error yet.
 */
export function endingError(
  error: unknown,
  { onError }: ErrorListener,
  cancellation: Pick<Cancellation, "aborted" | "reason">,
): unknown {
  if (error instanceof ConnectError) return error;
  if (!cancellation.aborted) {
    onError?.(error);
    return error;
  }
  const { reason } = cancellation;
  return reason instanceof ConnectError ? reason : error;
}

/**
 * The error that a client gets for what a call threw. Anything that is not meant for the client
 * leaves as "internal error".
 */
export function connectErrorFrom(reason: unknown): ConnectError {
  if (!(reason instanceof ConnectError)) {
    return new ConnectError("internal error", Code.Internal, undefined, undefined, reason);
  }
  const error = withBadRequest(reason);
  // A lone surrogate has no form in a header, nor in UTF-8.
  if (error.rawMessage.isWellFormed()) return error;
  return withMessage(error, error.rawMessage.toWellFormed());
}

/** The same error, with another message. */
function withMessage(error: ConnectError, message: string): ConnectError {
  const { code, metadata, details, cause, isWireError } = error;
  const changed = new ConnectError(message, code, metadata, undefined, cause);
  return Object.assign(changed, { details, isWireError });
}

/**
 * The maximum size of a message in the trailers, percent-encoded, in bytes. All trailers must fit
 * into what clients accept: 8 KiB in some.
 */
const encodedBytesMax = 4096;

/** Three bytes of UTF-8, each of them percent-encoded. */
const bytesPerCodeUnitMax = 9;

/** The same error, with its message truncated if it is too long for trailers. */
export function withTrailerMessage(error: ConnectError): ConnectError {
  const { rawMessage } = error;
  if (rawMessage.length * bytesPerCodeUnitMax <= encodedBytesMax) return error;
  let bytes = 0;
  let end = 0;
  for (const character of rawMessage) {
    bytes += encodeURIComponent(character).length;
    if (bytes > encodedBytesMax) return withMessage(error, `${rawMessage.slice(0, end)}…`);
    end += character.length;
  }
  return error;
}
