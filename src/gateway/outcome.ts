import { Code, ConnectError } from "@connectrpc/connect";

/**
 * The error that a client gets for what a call threw. Anything that is not
 * meant for the client leaves as "internal error".
 */
export function connectErrorFrom(reason: unknown): ConnectError {
  if (!(reason instanceof ConnectError)) {
    return new ConnectError("internal error", Code.Internal, undefined, undefined, reason);
  }
  // A lone surrogate has no form in a header, nor in UTF-8.
  if (reason.rawMessage.isWellFormed()) return reason;
  const { rawMessage, code, metadata, details, cause, isWireError } = reason;
  const error = new ConnectError(rawMessage.toWellFormed(), code, metadata, undefined, cause);
  return Object.assign(error, { details, isWireError });
}
