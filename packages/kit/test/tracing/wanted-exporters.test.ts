import { expect, test } from "vitest";
import { findWantedExporters } from "../../src/tracing/open.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

test.each<[wanted: string, env: Record<string, string>, unknown?: string]>([
  ["", {}],
  ["", { OTEL_EXPORTER_OTLP_ENDPOINT: " ", OTEL_TRACES_EXPORTER: "" }],
  ["", { OTEL_SERVICE_NAME: "plants", OTEL_TRACES_SAMPLER: "always_on" }],
  ["", { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://collector:4318" }],
  ["otlp", endpoint],
  ["otlp", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector:4318" }],
  ["otlp", { OTEL_TRACES_EXPORTER: "otlp" }],
  ["console", { OTEL_TRACES_EXPORTER: " console ", ...endpoint }],
  ["otlp,console", { OTEL_TRACES_EXPORTER: "console, otlp" }],
  ["", { OTEL_TRACES_EXPORTER: "none", ...endpoint }],
  ["", { OTEL_SDK_DISABLED: "true", ...endpoint }],
  ["", { OTEL_SDK_DISABLED: "TRUE", OTEL_TRACES_EXPORTER: "otlp" }],
  ["", { OTEL_TRACES_EXPORTER: "zipkin", ...endpoint }, "_EXPORTER: unknown exporter zipkin"],
  ["otlp", { OTEL_TRACES_EXPORTER: "zipkin,otlp", ...endpoint }, "exporter zipkin;"],
  ["", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, "OTLP_ENDPOINT: must be a URL"],
  ["otlp", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "foo", ...endpoint }, "_TRACES_ENDPOINT: must"],
])("spans go to %j with %j, and the wrong %j is told", (wanted, env, wrong) => {
  const warnings: string[] = [];
  expect(findWantedExporters(env, (message) => warnings.push(message)).join()).toBe(wanted);
  expect(warnings).toEqual(wrong === undefined ? [] : [expect.stringContaining(wrong)]);
});
