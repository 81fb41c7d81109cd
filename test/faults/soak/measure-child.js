/**
 * Preloaded into the servers of a soak: reports the process's resources on request. It collects
 * garbage first, because at a modest load, uncollected garbage looks like a leak.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

const resolutionMs = 50;

if (isMainThread && process.send !== undefined) {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  process.on("message", () => {
    const delayMs = Math.max(0, delays.percentile(99) / 1e6 - resolutionMs);
    collectGarbage();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.({ rss, heapUsed, external, delayMs });
    // The collection is not a delay of the server.
    setImmediate(() => delays.reset());
  });
  // The process must end by itself, as without this.
  process.channel?.unref();
}
