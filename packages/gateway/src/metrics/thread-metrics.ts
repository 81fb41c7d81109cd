import { PerformanceObserver, performance } from "node:perf_hooks";
import { CallMetrics } from "./call-metrics.ts";
import { add, type MetricsLayout, observe } from "./layout.ts";
import { Traffic } from "./traffic.ts";

/** How often it is looked how late the event loop is. */
const loopIntervalMs = 20;

/** How often what costs more is looked at; a scrape of the main thread looks by itself. */
const sampleIntervalMs = 2000;

/** What one thread measures of itself, in memory that the main thread reads. */
export class ThreadMetrics {
  readonly calls: CallMetrics;
  readonly traffic: Traffic;
  /** Whoever measures more writes to places of the layout that it took. */
  readonly numbers: Float64Array;
  readonly #layout: MetricsLayout;
  readonly #gc: PerformanceObserver;
  readonly #timers: readonly NodeJS.Timeout[];
  #utilization = performance.eventLoopUtilization();

  constructor(memory: SharedArrayBuffer, layout: MetricsLayout) {
    const numbers = new Float64Array(memory);
    this.numbers = numbers;
    this.#layout = layout;
    this.calls = new CallMetrics(numbers, layout);
    this.traffic = new Traffic(numbers, layout);
    this.#gc = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) add(numbers, layout.gcSeconds, duration / 1000);
    });
    this.#gc.observe({ entryTypes: ["gc"] });
    this.#timers = [
      watchLoopDelay((seconds) => observe(numbers, layout.loopDelaySeconds, seconds)),
      setInterval(() => this.sample(), sampleIntervalMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** Writes what is not written as it happens. */
  sample(): void {
    const since = this.#utilization;
    this.#utilization = performance.eventLoopUtilization();
    const { active, idle } = performance.eventLoopUtilization(this.#utilization, since);
    add(this.numbers, this.#layout.loopActiveSeconds, active / 1000);
    add(this.numbers, this.#layout.loopIdleSeconds, idle / 1000);
    this.numbers[this.#layout.heapUsedBytes] = process.memoryUsage().heapUsed;
    this.traffic.sample();
  }

  close(): void {
    this.sample();
    this.#gc.disconnect();
    for (const timer of this.#timers) clearInterval(timer);
  }
}

/** How much later than it should a timer fires: so long would a request have waited. */
function watchLoopDelay(told: (seconds: number) => void): NodeJS.Timeout {
  let due = performance.now() + loopIntervalMs;
  return setInterval(() => {
    const now = performance.now();
    told(Math.max(0, now - due) / 1000);
    due = now + loopIntervalMs;
  }, loopIntervalMs);
}
