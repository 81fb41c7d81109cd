import { PerformanceObserver, performance } from "node:perf_hooks";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { CallMetrics } from "./call-metrics.ts";
import { CommitMetrics } from "./commit-metrics.ts";
import { add, observe, places } from "./layout.ts";
import { Traffic } from "./traffic.ts";

/** How often it is looked how late the event loop is. */
const loopIntervalMs = 20;

/** How often what costs more is looked at; a scrape of the main thread looks by itself. */
const sampleIntervalMs = 2000;

/** What one thread measures of itself, in memory that the main thread reads. */
export class ThreadMetrics {
  readonly calls: CallMetrics;
  readonly commits: CommitMetrics;
  readonly traffic: Traffic;
  readonly #numbers: Float64Array;
  readonly #gc: PerformanceObserver;
  readonly #timers: readonly NodeJS.Timeout[];
  #utilization = performance.eventLoopUtilization();

  constructor(memory: SharedArrayBuffer) {
    const numbers = new Float64Array(memory);
    this.#numbers = numbers;
    this.calls = new CallMetrics(numbers, PlantService.methods);
    this.commits = new CommitMetrics(numbers);
    this.traffic = new Traffic(numbers);
    this.#gc = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) add(numbers, places.gcSeconds, duration / 1000);
    });
    this.#gc.observe({ entryTypes: ["gc"] });
    this.#timers = [
      watchLoopDelay((seconds) => observe(numbers, places.loopDelaySeconds, seconds)),
      setInterval(() => this.sample(), sampleIntervalMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** Writes what is not written as it happens. */
  sample(): void {
    const since = this.#utilization;
    this.#utilization = performance.eventLoopUtilization();
    const { active, idle } = performance.eventLoopUtilization(this.#utilization, since);
    add(this.#numbers, places.loopActiveSeconds, active / 1000);
    add(this.#numbers, places.loopIdleSeconds, idle / 1000);
    this.#numbers[places.heapUsedBytes] = process.memoryUsage().heapUsed;
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
