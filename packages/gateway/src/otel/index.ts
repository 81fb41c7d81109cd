/** OpenTelemetry of calls: spans and metrics, made with a tracer or a meter of yours. */

export type { Scheme } from "./convention.ts";
export { createMetricsObserver, type MetricsObserverOptions } from "./metrics-observer.ts";
export { isServerError } from "./status-code.ts";
export {
  callContextKey,
  createTracingObserver,
  type TracingObserver,
  type TracingObserverOptions,
} from "./tracing-observer.ts";
