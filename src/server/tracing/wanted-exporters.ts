/** Where spans go: to a collector, or to standard output. */
export type ExporterName = "otlp" | "console";

/**
 * The exporters that the standard environment variables ask for. Unlike in OpenTelemetry, the
 * default is none: the server looks for no collector unless a variable names one.
 *
 * @returns usually none.
 */
export function findWantedExporters(
  env: NodeJS.ProcessEnv,
  warn: (message: string) => void,
): readonly ExporterName[] {
  const read = (name: string) => env[name]?.trim() ?? "";
  if (read("OTEL_SDK_DISABLED").toLowerCase() === "true") return [];
  const named = read("OTEL_TRACES_EXPORTER")
    .split(",")
    .flatMap((name) => name.trim() || []);
  if (named.length === 0) return endpoints.some((name) => read(name) !== "") ? ["otlp"] : [];
  const unknown = named.filter((name) => name !== "none" && !isKnown(name));
  if (unknown.length > 0) {
    warn(`OTEL_TRACES_EXPORTER: unknown exporter ${unknown.join(", ")}; use otlp or console`);
  }
  return known.filter((name) => named.includes(name));
}

const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const known: readonly ExporterName[] = ["otlp", "console"];

function isKnown(name: string): name is ExporterName {
  return known.some((one) => one === name);
}
