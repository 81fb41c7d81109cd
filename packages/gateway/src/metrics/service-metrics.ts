import type { Registry } from "@prometheus-io/client";
import { createFamilies, type MetricFamily, type ServiceNumbers } from "./families.ts";
import type { MetricsLayout } from "./layout.ts";
import { createRegistry } from "./registry.ts";
import { ThreadMetrics } from "./thread-metrics.ts";

export interface ServiceMetricsOptions {
  readonly layout: MetricsLayout;
  /** What the names of the metrics begin with: `connect_gateway`. */
  readonly prefix: string;
  /** Of what runs. */
  readonly version: string;
  /** Threads that serve beside the main thread. Default: none, that serves alone. */
  readonly threads?: number;
  /** More than those of a gateway, of the numbers of all threads. Default: none. */
  readonly createFamilies?: (numbers: ServiceNumbers) => readonly MetricFamily[];
}

/** The metrics of one service, whatever threads it has; in the main thread. */
export class ServiceMetrics {
  /** What the main thread measures. */
  readonly main: ThreadMetrics;
  readonly #layout: MetricsLayout;
  readonly #memories: readonly SharedArrayBuffer[];
  readonly #numbers: readonly Float64Array[];
  readonly #registry: Registry;
  #isReady: () => boolean = () => false;

  constructor({ layout, prefix, version, threads = 0, ...more }: ServiceMetricsOptions) {
    const memories = Array.from({ length: 1 + threads }, () => layout.createMemory());
    this.#layout = layout;
    this.#memories = memories;
    this.#numbers = memories.map((memory) => new Float64Array(memory));
    this.main = new ThreadMetrics(this.memoryOf(0), layout);
    this.#registry = createRegistry([
      ...createFamilies(prefix, layout, this.#numbers),
      ...(more.createFamilies?.(this.#numbers) ?? []),
      {
        name: `${prefix}_ready`,
        help: "Whether the service would take a call, as /readyz says: 1, or 0.",
        type: "gauge",
        samples: () => [{ labels: {}, value: this.#isReady() ? 1 : 0 }],
      },
      {
        name: `${prefix}_build_info`,
        help: "What runs; always 1.",
        type: "gauge",
        samples: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
      },
    ]);
  }

  /** The service has started: until then it is not ready. @param isReady What `/readyz` says. */
  watchReadiness(isReady: () => boolean): void {
    this.#isReady = isReady;
  }

  /** The memory of a thread, for a ThreadMetrics in it. @param number From 1. */
  memoryOf(number: number): SharedArrayBuffer {
    const memory = this.#memories[number];
    if (memory === undefined) throw new RangeError(`there is no thread ${number}`);
    return memory;
  }

  /** A thread has ended. What it counted stays, and the next one of its number counts on. */
  threadEnded(number: number): void {
    const numbers = this.#numbers[number];
    if (numbers !== undefined) this.#layout.clearGauges(numbers);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  render(): Promise<string> {
    this.main.sample();
    return this.#registry.metrics();
  }

  close(): void {
    this.main.close();
  }
}
