import { diag } from "@opentelemetry/api";
import { getStringFromEnv } from "@opentelemetry/core";

/** The SDK's exporter sends protobuf over HTTP, and ignores a variable that asks for another form. */
export function warnOfOtherProtocols(): void {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const given = names.map((name) => getStringFromEnv(name)?.trim()).find((one) => one);
  if (given === undefined || given === "http/protobuf") return;
  diag.warn(
    `OTEL_EXPORTER_OTLP_PROTOCOL: ${given} is not supported; spans are sent as http/protobuf`,
  );
}
