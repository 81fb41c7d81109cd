import { Counter, Gauge, Histogram, type Registry } from "@prometheus-io/client";
import type { CommitObserver } from "../store/options.ts";

const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Up to `batchRowsMax`. */
const commitRows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export interface CommitMetrics extends CommitObserver {
  nodesUnreachable(count: number): void;
}

export function createCommitMetrics(registry: Registry): CommitMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });
  const seconds = histogram(
    "plant_store_commit_duration_seconds",
    "From a batch to the answer that it is durable, or not.",
    commitSeconds,
  );
  const size = histogram("plant_store_commit_rows", "Plants that shared a commit.", commitRows);
  const failed = new Counter({
    name: "plant_store_commits_failed_total",
    help: "Commits that failed, or of which that is not known.",
    registers,
  });
  const queueRows = gauge("plant_store_queue_rows", "Plants that wait for a commit.");
  const queueBytes = gauge("plant_store_queue_bytes", "What they may hold of the heap.");
  const logBytes = gauge(
    "plant_store_log_bytes",
    "What SQLite's log has that is not in the database yet.",
  );
  const nodesUnreachable = gauge(
    "plant_store_nodes_unreachable",
    "Nodes of a Citus cluster without a connection.",
  );
  return {
    logChanged: (bytes) => logBytes.set(bytes),
    nodesUnreachable: (count) => nodesUnreachable.set(count),
    queueChanged(rows, bytes) {
      queueRows.set(rows);
      queueBytes.set(bytes);
    },
    commitEnded({ rows, durationMs, isFailed }) {
      seconds.observe(durationMs / 1000);
      size.observe(rows);
      if (isFailed) failed.inc();
    },
  };
}
