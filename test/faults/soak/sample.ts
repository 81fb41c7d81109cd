/**
 * What is measured, with the allowed growth per hour. The limits are above the noise of a run of
 * hours, and still small for a month. After a collection, objects and buffers stay within about 100
 * KiB of a line. V8 still compiles functions that become hot after hours: at most some MiB in all.
 * Private memory includes what glibc and V8 keep, and varies by some MiB. A log that is never
 * truncated grows by what is written: at two plants a second, tens of MiB an hour.
 */
export const metrics = {
  memory: { title: "private memory", unit: "MiB", limit: 4 },
  objects: { title: "objects after a collection", unit: "MiB", limit: 0.5 },
  code: { title: "compiled code", unit: "MiB", limit: 2 },
  external: { title: "buffers after a collection", unit: "MiB", limit: 0.5 },
  files: { title: "open files", unit: "", limit: 2 },
  delay: { title: "event-loop delay, p99", unit: "ms", limit: 2 },
  wal: { title: "write-ahead log", unit: "MiB", limit: 8 },
} as const;

export type MetricName = keyof typeof metrics;
export const metricNames = Object.keys(metrics) as readonly MetricName[];

/** The resources of a server at one time. */
export interface Sample {
  /** Which server, and of which store. */
  readonly server: string;
  /** From a server's start to its end. Values are not compared across lives. */
  readonly life: string;
  /** Since the epoch. */
  readonly atMs: number;
  readonly values: Readonly<Record<MetricName, number>>;
}
