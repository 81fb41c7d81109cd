/** Traces, if the environment enables them. Otherwise the OpenTelemetry SDK is not loaded. */
import type { ExporterName, Tracing, TracingOptions } from "./sdk.ts";

export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const exporters = findWantedExporters(process.env, options.log.warn);
  if (exporters.length === 0) return undefined;
  const { createTracing } = await import("./sdk.ts");
  return createTracing(exporters, options);
}

const known: readonly ExporterName[] = ["otlp", "console"];
const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/** The exporters in the standard variables. Unlike in OpenTelemetry, the default is none. */
export function findWantedExporters(
  env: NodeJS.ProcessEnv,
  warn: (message: string) => void,
): readonly ExporterName[] {
  const read = (name: string) => env[name]?.trim() ?? "";
  if (read("OTEL_SDK_DISABLED").toLowerCase() === "true") return [];
  const named = read("OTEL_TRACES_EXPORTER").split(/[, ]+/).filter(Boolean);
  for (const name of endpoints) {
    if (read(name) === "" || URL.parse(read(name))?.protocol.startsWith("http")) continue;
    warn(`${name}: must be a URL of http or https, such as http://localhost:4318; it is ignored`);
    delete env[name]; // the SDK would try it for each export
  }
  if (named.length === 0) return endpoints.some((name) => read(name) !== "") ? ["otlp"] : [];
  const isKnown = (name: string) => ["none", ...known].includes(name);
  const unknown = named.filter((name) => !isKnown(name));
  if (unknown.length > 0) {
    warn(`OTEL_TRACES_EXPORTER: unknown exporter ${unknown.join(", ")}; use otlp or console`);
  }
  return known.filter((name) => named.includes(name));
}
