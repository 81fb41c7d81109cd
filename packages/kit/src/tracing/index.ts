/** Traces by the OpenTelemetry SDK, if its standard variables ask for them. */
export { openTracing } from "./open.ts";
export type { Tracing } from "./sdk.ts";
