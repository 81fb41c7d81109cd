/**
 * Preloaded into the servers of a soak: reports the process's resources on request. It collects
 * garbage first, because at a modest load, uncollected garbage looks like a leak.
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
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
    const { external } = process.memoryUsage();
    process.send?.({ memory: privateMemory(), ...heapUsage(), external, delayMs });
    // The collection is not a delay of the server.
    setImmediate(() => delays.reset());
  });
  // The process must end by itself, as without this.
  process.channel?.unref();
}

/** Without the pages of files, which the kernel can drop. In bytes. */
function privateMemory() {
  const [, kibibytes] =
    /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

/** V8 compiles functions for as long as some become hot, so objects and code are separate. */
function heapUsage() {
  const usage = { objects: 0, code: 0 };
  for (const { space_name, space_used_size } of getHeapSpaceStatistics()) {
    usage[/code|trusted/.test(space_name) ? "code" : "objects"] += space_used_size;
  }
  return usage;
}
