/** OpenTelemetry for calls: spans and metrics, created with your tracer or meter. */

export { isServerError, type Scheme } from "./convention.ts";
export { createMetricsObserver, type MetricsObserverOptions } from "./metrics-observer.ts";
export {
  callContextKey,
  createTracingObserver,
  type TracingObserver,
  type TracingObserverOptions,
} from "./tracing-observer.ts";
