import { Code, ConnectError } from "@connectrpc/connect";
import { withBadRequest } from "./rule-violations.ts";

/**
 * The error that a client gets for what a call threw. Anything that is not
 * meant for the client leaves as "internal error".
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
export function withMessage(error: ConnectError, message: string): ConnectError {
  const { code, metadata, details, cause, isWireError } = error;
  const changed = new ConnectError(message, code, metadata, undefined, cause);
  return Object.assign(changed, { details, isWireError });
}
