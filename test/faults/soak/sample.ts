/** What a server takes up at one time. */
export interface Sample {
  /** Which server, and of which store. */
  readonly server: string;
  /** From a start of the server to its end: nothing is compared across. */
  readonly life: string;
  /** Since the epoch. */
  readonly atMs: number;
  readonly values: Readonly<Record<MetricName, number>>;
}

export type MetricName = "rss" | "heap" | "external" | "files" | "delay" | "wal";

export interface Metric {
  readonly title: string;
  readonly unit: string;
  /** What it may grow in an hour. */
  readonly limit: number;
}

const mebibyte = 2 ** 20;

/**
 * The limits are what a run of hours can tell from noise, and still small beside a month: heap and
 * buffers, after a collection, stay within some 100 KiB of a line. Resident memory is what glibc
 * and V8 keep on top, and moves by some MiB. A log that nothing empties grows by what is written:
 * at two plants a second, tens of MiB an hour.
 */
export const metrics: Readonly<Record<MetricName, Metric>> = {
  rss: { title: "resident memory", unit: "MiB", limit: 4 },
  heap: { title: "heap after a collection", unit: "MiB", limit: 0.5 },
  external: { title: "buffers after a collection", unit: "MiB", limit: 0.5 },
  files: { title: "open files", unit: "", limit: 2 },
  delay: { title: "event-loop delay, p99", unit: "ms", limit: 2 },
  wal: { title: "write-ahead log", unit: "MiB", limit: 8 },
};

export const metricNames = Object.keys(metrics) as readonly MetricName[];

/** As the limits have it. */
export function inMebibytes(bytes: number): number {
  return bytes / mebibyte;
}
