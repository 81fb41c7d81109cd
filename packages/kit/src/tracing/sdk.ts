/** The OpenTelemetry SDK, configured by its standard environment variables. */
import { DiagLogLevel, diag } from "@opentelemetry/api";
import * as core from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import * as resources from "@opentelemetry/resources";
import * as sdk from "@opentelemetry/sdk-trace";
import type { ObservedRequest } from "connect-gateway";
import { blindInterceptor } from "connect-gateway/client";
import { timerMaxMs } from "connect-gateway/limits";
import type { Log } from "connect-gateway/logging";
import { callContextKey, createTracingObserver } from "connect-gateway/otel";

/** How long a drain may wait for the last spans. `serve` exits after it, which ends the exporter. */
const flushTimeoutMs = 2000;

export type Tracing = ReturnType<typeof createTracing>;

/** Opens nothing before its first span has ended. Nothing is global but the handler of warnings. */
export function createTracing(
  exporters: readonly ExporterName[],
  { program, scheme, log }: TracingOptions,
) {
  logSdkWarnings(log);
  core.setGlobalErrorHandler(ignore); // reportOutcomes reports failed exports
  const spanProcessors: sdk.SpanProcessor[] = [];
  if (exporters.includes("otlp")) {
    warnOfOtherProtocols();
    const exporter = reportOutcomes(new OTLPTraceExporter(), log);
    spanProcessors.push(new sdk.BatchSpanProcessor({ exporter, ...readBatchLimits() }));
  }
  if (exporters.includes("console")) {
    spanProcessors.push(new sdk.SimpleSpanProcessor({ exporter: new sdk.ConsoleSpanExporter() }));
  }
  const provider = new sdk.TracerProvider({
    resource: readResource(program),
    sampler: readSampler(),
    spanProcessors,
  });
  const tracer = provider.getTracer(program.name, program.version);
  const propagator = new core.W3CTraceContextPropagator();
  const calls = createTracingObserver({ tracer, propagator, scheme });
  const setter = { set: (to: Headers, name: string, value: string) => to.set(name, value) };
  /** Makes the span of a call the parent of its upstream's. */
  const passOn = blindInterceptor((next) => (request) => {
    request.header.delete("tracestate"); // it would belong to another trace where ours is new
    propagator.inject(request.contextValues.get(callContextKey), request.header, setter);
    return next(request);
  });

  async function close(): Promise<void> {
    const { promise: outOfTime, resolve } = Promise.withResolvers<"out of time">();
    const timeout = setTimeout(() => resolve("out of time"), flushTimeoutMs);
    const outcome = await Promise.race([provider.shutdown().catch(ignore), outOfTime]);
    clearTimeout(timeout);
    if (outcome !== undefined)
      log.warn(`the last spans did not arrive within ${flushTimeoutMs} ms`);
  }

  const traceIdOf = (request: ObservedRequest) => calls.spanContextOf(request)?.traceId;
  return { calls, passOn, tracer, traceIdOf, close };
}

/** Logs when exports start to fail and when they work again, but not each failure between. */
function reportOutcomes(exporter: sdk.SpanExporter, log: Log): sdk.SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const wasFailing = isFailing;
        isFailing = result.code !== core.ExportResultCode.SUCCESS;
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

/** How many spans may wait, and for how long. More are dropped; no call waits for them. */
function readBatchLimits() {
  return {
    maxQueueSize: readNumber("OTEL_BSP_MAX_QUEUE_SIZE", 2048, isCount),
    maxExportBatchSize: readNumber("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, isCount),
    scheduledDelayMillis: readNumber("OTEL_BSP_SCHEDULE_DELAY", 5000, isCount),
    exportTimeoutMillis: readNumber("OTEL_BSP_EXPORT_TIMEOUT", 30_000, isCount),
  };
}

/** The sampler of `OTEL_TRACES_SAMPLER`. Default: every call, unless the caller does not sample. */
function readSampler(): sdk.Sampler {
  const name = core.getStringFromEnv("OTEL_TRACES_SAMPLER")?.trim() ?? "parentbased_always_on";
  const [, parentBased, rootName = ""] = /^(parentbased_)?(.*)$/s.exec(name) ?? [];
  let root = roots.get(rootName)?.();
  if (root === undefined) {
    diag.warn(`OTEL_TRACES_SAMPLER: unknown sampler ${name}; using parentbased_always_on`);
    root = new sdk.AlwaysOnSampler();
  } else if (parentBased === undefined) return root;
  return new sdk.ParentBasedSampler({ root });
}

const ratio = () => readNumber("OTEL_TRACES_SAMPLER_ARG", 1, isRatio);
const roots: ReadonlyMap<string, () => sdk.Sampler> = new Map<string, () => sdk.Sampler>([
  ["always_on", () => new sdk.AlwaysOnSampler()],
  ["always_off", () => new sdk.AlwaysOffSampler()],
  ["traceidratio", () => new sdk.TraceIdRatioBasedSampler(ratio())],
]);

/** The service that creates the spans. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override it. */
function readResource({ name, version }: TracingOptions["program"]): resources.Resource {
  const ours = { "service.name": name, "service.version": version };
  const detectors = [resources.resourceAttributesEnvDetector, resources.serviceNameEnvDetector];
  return resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(ours))
    .merge(resources.detectResources({ detectors }));
}

/** The SDK's exporter sends protobuf over HTTP, and ignores a variable that selects another form. */
function warnOfOtherProtocols(): void {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const given = names.map((name) => core.getStringFromEnv(name)?.trim()).find((one) => one);
  if (given === undefined || given === "http/protobuf") return;
  const problem = `${given} is not supported; spans are sent as http/protobuf`;
  diag.warn(`OTEL_EXPORTER_OTLP_PROTOCOL: ${problem}`);
}

type Rule = readonly [text: string, allows: (value: number) => boolean];

const isCount: Rule = [
  `a whole number from 1 to ${timerMaxMs}`,
  (value) => Number.isInteger(value) && value >= 1 && value <= timerMaxMs,
];
const isRatio: Rule = ["from 0 to 1", (value) => value >= 0 && value <= 1];

function readNumber(name: string, byDefault: number, [text, allows]: Rule): number {
  const given = core.getNumberFromEnv(name) ?? byDefault;
  if (allows(given)) return given;
  diag.warn(`${name}: must be ${text}, not ${given}; using ${byDefault}`);
  return byDefault;
}

export interface TracingOptions {
  readonly program: { readonly name: string; readonly version: string };
  readonly scheme: "http" | "https";
  readonly log: Log;
}

export type ExporterName = "otlp" | "console";
