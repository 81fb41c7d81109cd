/** Traces, where the environment asks for them. Nothing of OpenTelemetry is loaded elsewhere. */
import type { CallObserver, ObservedRequest } from "../../gateway/index.ts";
import type { Log } from "../log.ts";
import { findWantedExporters } from "./wanted-exporters.ts";

/** The traces of one thread. Nothing is open before its first span has ended. */
export interface Tracing {
  readonly calls: CallObserver;
  /** The trace of a request that `calls` was told of. */
  traceIdOf(request: ObservedRequest): string | undefined;
  /** Sends what is left, as far as that goes in a short time. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly scheme: "http" | "https";
  readonly log: Log;
}

/** @returns undefined where nobody asks, which costs nothing. */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const exporters = findWantedExporters(process.env, options.log.warn);
  if (exporters.length === 0) return undefined;
  const { createTracing } = await import("./tracing.ts");
  return createTracing(exporters, options);
}
