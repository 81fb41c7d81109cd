/** The OpenTelemetry SDK, configured by its standard environment variables. */
import { DiagLogLevel, diag } from "@opentelemetry/api";
import {
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Log } from "connect-gateway/logging";
import { createTracingObserver } from "connect-gateway/otel";
import { passOnSpan } from "./pass-on-span.ts";
import { readBatchLimits, readResource, readSampler, warnOfOtherProtocols } from "./sdk-options.ts";
import type { ExporterName, Tracing, TracingOptions } from "./tracing.ts";

/** How long a drain may wait for the last spans. `serve` exits after it, which ends the exporter. */
const flushTimeoutMs = 2000;

/**
 * Registers only the handler of warnings with the OpenTelemetry API: the server creates all spans
 * itself, and other code need not find them.
 */
export function createTracing(
  exporters: readonly ExporterName[],
  { program, scheme, log }: TracingOptions,
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
    resource: readResource(program),
    sampler: readSampler(),
    spanProcessors,
  });
  const tracer = provider.getTracer(program.name, program.version);
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
    passOn: passOnSpan,
    tracer,
    traceIdOf: (request) => calls.spanContextOf(request)?.traceId,
    close,
  };
}

/** Logs when exports start to fail and when they work again, but not each failure between. */
function reportOutcomes(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const wasFailing = isFailing;
        isFailing = result.code !== ExportResultCode.SUCCESS;
        if (isFailing && !wasFailing) log.warn("cannot export spans; they are lost", result.error);
        if (!isFailing && wasFailing) log.info("spans are exported again");
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** The SDK warns of invalid variables and of dropped spans, without a limit of its own. */
const linesPerMinuteMax = 10;
const lineCharactersMax = 300;

/** Sends the SDK's warnings to the log. */
export function logSdkWarnings(log: Log): void {
  let minute = 0;
  let lines = 0;

  function warn(...parts: readonly unknown[]): void {
    const now = Math.floor(performance.now() / 60_000);
    if (now !== minute) lines = 0;
    minute = now;
    if (++lines > linesPerMinuteMax) return;
    // Parts that are not text are a collector's answer, or an error that is reported elsewhere.
    const text = parts.filter((part) => typeof part === "string").join(": ");
    log.warn(`OpenTelemetry: ${text}`.slice(0, lineCharactersMax));
  }

  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function ignore(): void {}
