/** What the OpenTelemetry SDK does not read from the standard variables by itself. */
import { diag } from "@opentelemetry/api";
import { getNumberFromEnv, getStringFromEnv } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { TracingOptions } from "./tracing.ts";

/** How many spans may wait, and for how long. More are dropped; no call waits for them. */
export function readBatchLimits() {
  return {
    maxQueueSize: readNumber("OTEL_BSP_MAX_QUEUE_SIZE", 2048, isCount),
    maxExportBatchSize: readNumber("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, isCount),
    scheduledDelayMillis: readNumber("OTEL_BSP_SCHEDULE_DELAY", 5000, isCount),
    exportTimeoutMillis: readNumber("OTEL_BSP_EXPORT_TIMEOUT", 30_000, isCount),
  };
}

/** The sampler of `OTEL_TRACES_SAMPLER`. Default: every call, unless the caller does not sample. */
export function readSampler(): Sampler {
  const name = getStringFromEnv("OTEL_TRACES_SAMPLER")?.trim() ?? "parentbased_always_on";
  const [, parentBased, rootName = ""] = /^(parentbased_)?(.*)$/s.exec(name) ?? [];
  let root = roots.get(rootName)?.();
  if (root === undefined) {
    diag.warn(`OTEL_TRACES_SAMPLER: unknown sampler ${name}; using parentbased_always_on`);
    root = new AlwaysOnSampler();
  } else if (parentBased === undefined) return root;
  return new ParentBasedSampler({ root });
}

const roots: ReadonlyMap<string, () => Sampler> = new Map<string, () => Sampler>([
  ["always_on", () => new AlwaysOnSampler()],
  ["always_off", () => new AlwaysOffSampler()],
  [
    "traceidratio",
    () => new TraceIdRatioBasedSampler(readNumber("OTEL_TRACES_SAMPLER_ARG", 1, isRatio)),
  ],
]);

/** The service that creates the spans. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override it. */
export function readResource({ name, version }: TracingOptions["program"]): Resource {
  const ours = { "service.name": name, "service.version": version };
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  return defaultResource()
    .merge(resourceFromAttributes(ours))
    .merge(detectResources({ detectors }));
}

/** The SDK's exporter sends protobuf over HTTP, and ignores a variable that asks for another form. */
export function warnOfOtherProtocols(): void {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const given = names.map((name) => getStringFromEnv(name)?.trim()).find((one) => one);
  if (given === undefined || given === "http/protobuf") return;
  diag.warn(
    `OTEL_EXPORTER_OTLP_PROTOCOL: ${given} is not supported; spans are sent as http/protobuf`,
  );
}

interface Rule {
  readonly text: string;
  allows(value: number): boolean;
}

const isCount: Rule = {
  text: "a whole number above 0",
  allows: (value) => Number.isSafeInteger(value) && value > 0,
};
const isRatio: Rule = { text: "from 0 to 1", allows: (value) => value >= 0 && value <= 1 };

function readNumber(name: string, byDefault: number, { text, allows }: Rule): number {
  const given = getNumberFromEnv(name) ?? byDefault;
  if (allows(given)) return given;
  diag.warn(`${name}: must be ${text}, not ${given}; using ${byDefault}`);
  return byDefault;
}
