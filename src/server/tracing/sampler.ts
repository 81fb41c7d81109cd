import { diag } from "@opentelemetry/api";
import { getNumberFromEnv, getStringFromEnv } from "@opentelemetry/core";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";

/** The sampler of `OTEL_TRACES_SAMPLER`. Default: every call, unless the caller does not sample. */
export function createSampler(): Sampler {
  const name = getStringFromEnv("OTEL_TRACES_SAMPLER")?.trim() ?? defaultSampler;
  const create = samplers.get(name);
  if (create !== undefined) return create();
  diag.warn(`OTEL_TRACES_SAMPLER: unknown sampler ${name}; using ${defaultSampler}`);
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

const defaultSampler = "parentbased_always_on";

const samplers: ReadonlyMap<string, () => Sampler> = new Map<string, () => Sampler>([
  ["always_on", () => new AlwaysOnSampler()],
  ["always_off", () => new AlwaysOffSampler()],
  ["traceidratio", createRatioSampler],
  [defaultSampler, () => new ParentBasedSampler({ root: new AlwaysOnSampler() })],
  ["parentbased_always_off", () => new ParentBasedSampler({ root: new AlwaysOffSampler() })],
  ["parentbased_traceidratio", () => new ParentBasedSampler({ root: createRatioSampler() })],
]);

function createRatioSampler(): Sampler {
  const ratio = getNumberFromEnv("OTEL_TRACES_SAMPLER_ARG") ?? 1;
  if (ratio >= 0 && ratio <= 1) return new TraceIdRatioBasedSampler(ratio);
  diag.warn(`OTEL_TRACES_SAMPLER_ARG: must be from 0 to 1, not ${ratio}; using 1`);
  return new TraceIdRatioBasedSampler(1);
}
