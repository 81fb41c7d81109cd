/** Metrics of a server as Prometheus reads them, and the listener that serves them. */
export { openAdmin } from "./admin.ts";
export { ServiceMetrics, type ServiceMetricsOptions } from "./service-metrics.ts";
