import type { Interceptor } from "@connectrpc/connect";
import type { CallObserver, ObservedRequest } from "connect-gateway";
import type { Log } from "connect-gateway/logging";

/** Opens nothing until its first span has ended. */
export interface Tracing {
  readonly calls: CallObserver;
  /** Must be the last interceptor before the store. */
  readonly inStore: Interceptor;
  /** The trace id of a request that `calls` observed. */
  traceIdOf(request: ObservedRequest): string | undefined;
  /** Sends the remaining spans, within a short time. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** The scheme of the port. */
  readonly scheme: "http" | "https";
  readonly log: Log;
}

/** Where spans go: to a collector, or to standard output. */
export type ExporterName = "otlp" | "console";
