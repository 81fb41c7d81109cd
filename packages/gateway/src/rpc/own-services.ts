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

/** Aborts with the given one, if any, and always with an error for clients: a bare `abort()` has none. */
export function drainingSignal(given: AbortSignal | undefined): AbortSignal {
  const draining = new AbortController();
  const abort = () => {
    const { reason } = given ?? {};
    const message = "the server is shutting down";
    const other = new ConnectError(message, Code.Unavailable, undefined, undefined, reason);
    draining.abort(reason instanceof ConnectError ? reason : other);
  };
  if (given?.aborted) abort();
  else given?.addEventListener("abort", abort, { once: true });
  return draining.signal;
}

/** Limits the concurrent streams that need no token. @returns counts one until its signal aborts. */
export function createStreamLimit(max: number, tooMany: string) {
  let open = 0;
  return (signal: AbortSignal): void => {
    if (open >= max) throw new ConnectError(tooMany, Code.ResourceExhausted);
    open++;
    // More reliable than the end of a generator, which may never be read to its end.
    signal.addEventListener("abort", () => open--, { once: true });
  };
}
