/** Traces, if the environment asks for them. Otherwise the OpenTelemetry SDK is not loaded. */
import type { Tracing, TracingOptions } from "./tracing.ts";
import { findWantedExporters } from "./wanted-exporters.ts";

/** @returns undefined if traces are off, which costs nothing. */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const exporters = findWantedExporters(process.env, options.log.warn);
  if (exporters.length === 0) return undefined;
  const { createTracing } = await import("./sdk.ts");
  return createTracing(exporters, options);
}
