/** The metrics of a service, as Prometheus reads them. */
import { collectDefaultMetrics, type Metric, Registry } from "@prometheus-io/client";
import type { MetricFamily } from "./families.ts";

/** @returns with those of the process. */
export function createRegistry(families: readonly MetricFamily[]): Registry {
  const registry = new Registry();
  for (const { name, help, type, samples } of families) {
    // What a registry asks of a metric. Those of the package count by themselves, and hash
    // the labels of each call; our numbers are counted already.
    const metric = { name, help, type, get: async () => ({ name, help, type, values: samples() }) };
    registry.registerMetric(metric as unknown as Metric);
  }
  return Registry.merge([registry, processRegistry()]);
}

let ofProcess: Registry | undefined;

/** Metrics of the process: once, because what measures them goes on until its end. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    for (const name of costly) ofProcess.removeSingleMetric(name);
  }
  return ofProcess;
}

/** Those that look at each open connection, or say again what we say of each thread. */
const costly = [
  ...["nodejs_active_handles", "nodejs_active_handles_total"],
  ...["nodejs_active_requests", "nodejs_active_requests_total"],
  ...["nodejs_active_resources", "nodejs_active_resources_total"],
  ...["nodejs_eventloop_utilization_summary", "nodejs_eventloop_utilization_histogram"],
  // They begin anew with each scrape: a second scraper would spoil the first one's.
  ...["", "_min", "_max", "_mean", "_stddev", "_p50", "_p90", "_p99"].map(
    (part) => `nodejs_eventloop_lag${part}_seconds`,
  ),
];
