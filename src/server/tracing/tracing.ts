import type { Interceptor } from "@connectrpc/connect";
import type { CallObserver, ObservedRequest } from "connect-gateway";
import type { Log } from "connect-gateway/logging";

/** The traces of one thread. Nothing is open before its first span has ended. */
export interface Tracing {
  readonly calls: CallObserver;
  /** The last interceptor before the store. */
  readonly inStore: Interceptor;
  /** The trace of a request that `calls` was told of. */
  traceIdOf(request: ObservedRequest): string | undefined;
  /** Sends what is left, as far as that goes in a short time. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** What the port speaks. */
  readonly scheme: "http" | "https";
  readonly log: Log;
}
