import { ThreadMetrics } from "connect-gateway/metrics";
import { CommitMetrics } from "./commit-metrics.ts";
import { layout } from "./layout.ts";

/** The counters of one serving thread, in memory that the main thread reads. */
export function createThreadMetrics(memory: SharedArrayBuffer) {
  const thread = new ThreadMetrics(memory, layout);
  return { thread, commits: new CommitMetrics(thread.numbers) };
}
