/** The OpenTelemetry SDK, configured by its standard environment variables. */
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { createTracingObserver } from "connect-gateway/otel";
import { version } from "../version.ts";
import { readBatchLimits } from "./batch-limits.ts";
import { reportOutcomes } from "./export-report.ts";
import { warnOfOtherProtocols } from "./otlp-protocol.ts";
import { createResource } from "./resource.ts";
import { createSampler } from "./sampler.ts";
import { logSdkWarnings } from "./sdk-warnings.ts";
import { spanStore } from "./store-spans.ts";
import type { Tracing, TracingOptions } from "./tracing.ts";
import type { ExporterName } from "./wanted-exporters.ts";

/** How long a drain may wait for the last spans. `serve` exits after it, which ends the exporter. */
const flushTimeoutMs = 2000;

/**
 * Registers only the handler of warnings with the OpenTelemetry API: the server creates all spans
 * itself, and other code need not find them.
 */
export function createTracing(
  exporters: readonly ExporterName[],
  { scheme, log }: TracingOptions,
): Tracing {
  logSdkWarnings(log);
  setGlobalErrorHandler(ignore); // reportOutcomes reports failed exports
  const spanProcessors: SpanProcessor[] = [];
  if (exporters.includes("otlp")) {
    warnOfOtherProtocols();
    const exporter = reportOutcomes(new OTLPTraceExporter(), log);
    spanProcessors.push(new BatchSpanProcessor({ exporter, ...readBatchLimits() }));
  }
  if (exporters.includes("console")) {
    spanProcessors.push(new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() }));
  }
  const provider = new TracerProvider({
    resource: createResource(),
    sampler: createSampler(),
    spanProcessors,
  });
  const tracer = provider.getTracer("plant-store", version);
  const propagator = new W3CTraceContextPropagator();
  const calls = createTracingObserver({ tracer, propagator, scheme });

  async function close(): Promise<void> {
    const { promise: outOfTime, resolve } = Promise.withResolvers<"out of time">();
    const timeout = setTimeout(() => resolve("out of time"), flushTimeoutMs);
    const outcome = await Promise.race([provider.shutdown().catch(ignore), outOfTime]);
    clearTimeout(timeout);
    if (outcome !== undefined)
      log.warn(`the last spans did not arrive within ${flushTimeoutMs} ms`);
  }

  return {
    calls,
    inStore: spanStore(tracer),
    traceIdOf: (request) => calls.spanContextOf(request)?.traceId,
    close,
  };
}

function ignore(): void {}
