import { collectDefaultMetrics, Gauge, type Metric, Registry } from "@prometheus-io/client";
import type { BodyBudget } from "../http/body-budget.ts";
import { CallMetrics, type MethodLabels } from "./call-metrics.ts";
import { measureRuntime } from "./runtime-metrics.ts";
import { Traffic } from "./traffic.ts";
import { createWatches } from "./watched.ts";

export interface ServiceMetricsOptions extends MethodLabels {
  /** What the names of the metrics begin with: `connect_gateway`. */
  readonly prefix: string;
  /** Of what runs. */
  readonly version: string;
}

/** The metrics of one service. */
export class ServiceMetrics {
  readonly calls: CallMetrics;
  readonly traffic: Traffic;
  /** Whoever measures more registers it here. */
  readonly registry = new Registry();
  readonly close: () => void;
  readonly #watches: ReturnType<typeof createWatches>;
  #isReady: () => boolean = () => false;

  constructor({ prefix, version, ...labels }: ServiceMetricsOptions) {
    const { registry } = this;
    this.calls = new CallMetrics(prefix, registry, labels);
    this.traffic = new Traffic(prefix, registry);
    this.close = measureRuntime(prefix, registry);
    this.#watches = createWatches(prefix, registry);
    const ready = "Whether the service would take a call, as /readyz says: 1, or 0.";
    this.#watches.gauge("ready", ready, () => (this.isReady() ? 1 : 0));
    new Gauge({
      name: `${prefix}_build_info`,
      help: "What runs; always 1.",
      labelNames: ["version", "node"],
      registers: [registry],
    }).set({ version, node: process.versions.node }, 1);
    for (const metric of processRegistry().getMetricsAsArray()) {
      registry.registerMetric(metric as unknown as Metric); // its types say less than it returns
    }
  }

  /** The service has started: until then it is not ready. @param isReady What `/readyz` says. */
  watchReadiness(isReady: () => boolean): void {
    this.#isReady = isReady;
  }

  isReady(): boolean {
    return this.#isReady();
  }

  /** Shows what bodies hold. */
  watchBodies(budget: BodyBudget): void {
    const { gauge, counter } = this.#watches;
    gauge(
      "body_bytes",
      "Bytes of bodies in memory: received, and unpacked.",
      () => budget.heldBytes,
    );
    const help = "Bodies for which there was no room.";
    counter("body_refusals_total", help, () => budget.refusals);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  render(): Promise<string> {
    return this.registry.metrics();
  }
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

/** Those that look at each open connection, or say again what we say of the event loop. */
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
