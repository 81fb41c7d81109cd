/** The report on a soak's samples: a verdict and a table. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isGrowing, slopeOf } from "./slope.ts";

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
  /** Since the epoch. */
  readonly atMs: number;
  readonly values: Readonly<Record<MetricName, number>>;
}

/** Writes `slopes.md`. @returns a line for each slope that is too steep. */
export async function writeReport(folder: string, samples: readonly Sample[]): Promise<string[]> {
  const found: string[] = [];
  const lines = [
    "| Server | What | Range | Slope (99 % interval) | Limit an hour | Verdict |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  for (const [server, own] of Map.groupBy(samples, ({ server }) => server)) {
    for (const name of metricNames) {
      const { title, unit, limit } = metrics[name];
      const slope = slopeOf(own.map(({ atMs, values }) => ({ atMs, value: values[name] })));
      const isTooSteep = isGrowing(slope, limit);
      const values = own.map((sample) => sample.values[name]).sort((a, b) => a - b);
      const show = (value = 0) => Number(value.toFixed(2));
      const interval = slope && `(${show(slope.lowest)} to ${show(slope.highest)})`;
      const growth = slope && `${show(slope.perHour)} ${unit} an hour ${interval}`;
      const range = `${show(values[0])} to ${show(values.at(-1))} ${unit}`;
      const verdict = isTooSteep ? "too steep" : "ok";
      const told = growth ?? "too short to say";
      lines.push(`| ${[server, title, range, told, `${limit} ${unit}`, verdict].join(" | ")} |`);
      if (isTooSteep) found.push(`${server}: ${title} grows by ${growth}`);
    }
  }
  await writeFile(join(folder, "slopes.md"), `${lines.join("\n")}\n`);
  return found;
}
