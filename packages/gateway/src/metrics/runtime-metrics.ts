/** What Node does with its time and memory. */
import { PerformanceObserver, performance } from "node:perf_hooks";
import { Counter, Gauge, Histogram, type Registry } from "@prometheus-io/client";

/** How often it is looked how late the event loop is. */
const loopIntervalMs = 20;
const loopSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1];

/** The thread that serves; the label is for those that a server may add. */
const thread = { thread: "main" };

/** @returns stops measuring. */
export function measureRuntime(prefix: string, registry: Registry): () => void {
  const shared = { labelNames: ["thread"] as const, registers: [registry] };
  const delay = new Histogram({
    ...shared,
    name: `${prefix}_event_loop_delay_seconds`,
    help: "How late timers fire, by thread.",
    buckets: loopSeconds,
  });
  delay.zero(thread);
  for (const state of ["active", "idle"] as const) {
    new Counter({
      ...shared,
      name: `${prefix}_event_loop_${state}_seconds_total`,
      help: `Time that the event loop ${state === "active" ? "was at work" : "waited for work"}, by thread.`,
      collect() {
        this.reset();
        this.inc(thread, performance.eventLoopUtilization()[state] / 1000);
      },
    });
  }
  const gc = new Counter({
    ...shared,
    name: `${prefix}_gc_seconds_total`,
    help: "Time in garbage collection, by thread.",
  });
  gc.inc(thread, 0);
  new Gauge({
    ...shared,
    name: `${prefix}_heap_used_bytes`,
    help: "What objects hold of the heap, by thread.",
    collect() {
      this.set(thread, process.memoryUsage().heapUsed);
    },
  });
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gc.inc(thread, duration / 1000);
  });
  observer.observe({ entryTypes: ["gc"] });
  const timer = watchLoopDelay((seconds) => delay.observe(thread, seconds));
  return () => {
    observer.disconnect();
    clearInterval(timer);
  };
}

/** How much later than it should a timer fires: so long would a request have waited. */
function watchLoopDelay(told: (seconds: number) => void): NodeJS.Timeout {
  let due = performance.now() + loopIntervalMs;
  return setInterval(() => {
    const now = performance.now();
    told(Math.max(0, now - due) / 1000);
    due = now + loopIntervalMs;
  }, loopIntervalMs).unref();
}
