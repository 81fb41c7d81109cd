/** Metrics of a server as Prometheus reads them, and the listener that serves them. */
export { type AdminListener, type MetricsSource, openAdmin } from "./admin.ts";
export {
  histogram,
  histogramSamples,
  type MetricFamily,
  type ServiceNumbers,
  sumOf,
} from "./families.ts";
export { add, type HistogramPlace, type LayoutOptions, MetricsLayout, observe } from "./layout.ts";
export { ServiceMetrics, type ServiceMetricsOptions } from "./service-metrics.ts";
export { ThreadMetrics } from "./thread-metrics.ts";
