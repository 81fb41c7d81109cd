/** OpenTelemetry for calls: spans, created with your tracer. */
export * from "./tracing-observer.ts";
