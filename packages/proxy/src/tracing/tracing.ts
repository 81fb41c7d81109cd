import type { Interceptor } from "@connectrpc/connect";
import type { Tracer } from "@opentelemetry/api";
import type { CallObserver, ObservedRequest } from "connect-gateway";
import type { Log } from "connect-gateway/logging";

/** Opens nothing until its first span has ended. */
export interface Tracing {
  readonly calls: CallObserver;
  /** Makes the span of a call the parent of its upstream's. */
  readonly passOn: Interceptor;
  /** For spans of your own. */
  readonly tracer: Tracer;
  /** The trace id of a request that `calls` observed. */
  traceIdOf(request: ObservedRequest): string | undefined;
  /** Sends the remaining spans, within a short time. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** What creates the spans; the first is `service.name` unless a variable overrides it. */
  readonly program: { readonly name: string; readonly version: string };
  /** The scheme of the port. */
  readonly scheme: "http" | "https";
  readonly log: Log;
}

/** Where spans go: to a collector, or to standard output. */
export type ExporterName = "otlp" | "console";
