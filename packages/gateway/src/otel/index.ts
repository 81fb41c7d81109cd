/** OpenTelemetry for calls: spans, created with your tracer. */
export {
  callContextKey,
  createTracingObserver,
  isServerError,
  type Scheme,
  type TracingObserver,
  type TracingObserverOptions,
} from "./tracing-observer.ts";
