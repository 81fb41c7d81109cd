import { Code, ConnectError } from "@connectrpc/connect";

/**
 * A signal that aborts with the one given, or never without one. Its reason is always an error for
 * clients, as that of `serve` is: the reason of a bare `abort()` would be an internal error to them.
 */
export function drainingSignal(given: AbortSignal | undefined): AbortSignal {
  const draining = new AbortController();
  const abort = () => draining.abort(errorOf(given?.reason));
  if (given?.aborted) abort();
  else given?.addEventListener("abort", abort, { once: true });
  return draining.signal;
}

function errorOf(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const message = "the server is shutting down";
  return new ConnectError(message, Code.Unavailable, undefined, undefined, reason);
}
