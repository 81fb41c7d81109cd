/** Metric families of commits, from the counters of all threads. */
import {
  histogram,
  histogramSamples,
  type MetricFamily,
  type ServiceNumbers,
  sumOf,
} from "connect-gateway/metrics";
import { commitPlaces as places } from "./layout.ts";

export function createCommitFamilies(numbers: ServiceNumbers): MetricFamily[] {
  const sum = sumOf(numbers);
  const one = (at: number) => () => [{ labels: {}, value: sum(at) }];
  return [
    histogram("plant_store_commit_duration_seconds", {
      help: "From a batch to the answer that it is durable, or not.",
      samples: (name) => histogramSamples(name, places.commitSeconds, {}, sum),
    }),
    histogram("plant_store_commit_rows", {
      help: "Plants that shared a commit.",
      samples: (name) => histogramSamples(name, places.commitRows, {}, sum),
    }),
    {
      name: "plant_store_commits_failed_total",
      help: "Commits that failed, or of which that is not known.",
      type: "counter",
      samples: one(places.commitsFailed),
    },
    {
      name: "plant_store_queue_rows",
      help: "Plants that wait for a commit.",
      type: "gauge",
      samples: one(places.queueRows),
    },
    {
      name: "plant_store_queue_bytes",
      help: "What they may hold of the heap.",
      type: "gauge",
      samples: one(places.queueBytes),
    },
  ];
}
