/** Shared by the gateway's own services: health and reflection. */
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";

/** Default options for the gateway's own services. The caller's options override them. */
export const smallMessages: Partial<UniversalHandlerOptions> = {
  // Requests contain only names. Clients without a token must not make us read or decompress more.
  readMaxBytes: 4096,
  // Never compress answers that clients without a token can request repeatedly.
  compressMinBytes: 0xffffffff,
};

/** The services registered on a router. More may be added later, so call this when they are needed. */
export function servicesOf(router: ConnectRouter): readonly DescService[] {
  return [...new Set(router.handlers.map(({ service }) => service))];
}

/**
 * A signal that aborts with the given one, or never without one. Its reason is always an error for
 * clients, because the reason of a bare `abort()` would become an internal error.
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

/** Counts a stream until its signal aborts. @throws {ConnectError} at the limit. */
export type EnterStream = (signal: AbortSignal) => void;

/** Limits the concurrent streams that need no token. */
export function createStreamLimit(max: number, tooMany: string): EnterStream {
  let open = 0;
  return (signal) => {
    if (open >= max) throw new ConnectError(tooMany, Code.ResourceExhausted);
    open++;
    // More reliable than the end of a generator, which may never be read to its end.
    signal.addEventListener("abort", () => open--, { once: true });
  };
}
