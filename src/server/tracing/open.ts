/** Traces, where the environment asks for them. Nothing of OpenTelemetry is loaded elsewhere. */
import type { Tracing, TracingOptions } from "./tracing.ts";
import { findWantedExporters } from "./wanted-exporters.ts";

/** @returns undefined where nobody asks, which costs nothing. */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const exporters = findWantedExporters(process.env, options.log.warn);
  if (exporters.length === 0) return undefined;
  const { createTracing } = await import("./sdk.ts");
  return createTracing(exporters, options);
}
