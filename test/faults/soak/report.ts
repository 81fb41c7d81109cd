/** The report on a soak's samples: a verdict, a table, a plot. */
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
  /** From a server's start to its end. Values are not compared across lives. */
  readonly life: string;
  /** Since the epoch. */
  readonly atMs: number;
  readonly values: Readonly<Record<MetricName, number>>;
}

/** Writes `slopes.md` and `soak.svg`. @returns a line for each slope that is too steep. */
export async function writeReport(folder: string, samples: readonly Sample[]): Promise<string[]> {
  const found: string[] = [];
  const lines = [
    "| Server | What | Range | Slope (99 % interval) | Limit an hour | Verdict |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  for (const [server, own] of Map.groupBy(samples, ({ server }) => server)) {
    const lives = [...Map.groupBy(own, ({ life }) => life).values()];
    for (const name of metricNames) {
      const { title, unit, limit } = metrics[name];
      const slope = slopeOf(
        lives.map((life) => life.map(({ atMs, values }) => ({ atMs, value: values[name] }))),
      );
      const isTooSteep = isGrowing(slope, limit);
      const values = own.map((sample) => sample.values[name]).sort((a, b) => a - b);
      const show = (value = 0) => Number(value.toFixed(2));
      const interval = slope && `(${show(slope.lowest)} to ${show(slope.highest)})`;
      const growth = slope && `${show(slope.perHour)} ${unit} an hour ${interval}`;
      const range = `${show(values[0])} to ${show(values.at(-1))} ${unit}`;
      const verdict = isTooSteep ? "too steep" : "ok";
      const told = growth ?? "too short to say";
      const cells = [server, title, range, told, `${limit} ${unit}`, verdict];
      lines.push(`| ${cells.join(" | ")} |`);
      if (isTooSteep) found.push(`${server}: ${title} grows by ${growth}`);
    }
  }
  await writeFile(join(folder, "slopes.md"), `${lines.join("\n")}\n`);
  await writeFile(join(folder, "soak.svg"), plotOf(samples));
  return found;
}

const panel = { width: 720, height: 110, left: 90, top: 26 };
const colours = ["#1b6e3c", "#b3541e"];

/** One panel per metric, one line per life; an SVG. */
function plotOf(samples: readonly Sample[]): string {
  const servers = [...new Set(samples.map(({ server }) => server))];
  const lives = [...Map.groupBy(samples, ({ life }) => life).values()];
  const [fromMs, toMs] = rangeOf(samples.map(({ atMs }) => atMs));
  const x = (atMs: number) => panel.left + ((atMs - fromMs) / (toMs - fromMs)) * panel.width;
  const height = metricNames.length * (panel.height + panel.top) + panel.top;
  const hours = ((toMs - fromMs) / 3_600_000).toFixed(1);
  const legend = servers.map(
    (server, index) => `<tspan fill="${colours[index]}">${server} </tspan>`,
  );
  const panels = metricNames.flatMap((name, index) => {
    const { title, unit } = metrics[name];
    const top = panel.top + index * (panel.height + panel.top);
    const bottom = top + panel.height;
    const [, most] = rangeOf(samples.map(({ values }) => values[name]));
    const y = (value: number) => bottom - (value / most) * (panel.height - 20);
    const lines = lives.map((life) => {
      const points = life.map(
        ({ atMs, values }) => `${x(atMs).toFixed(1)},${y(values[name]).toFixed(1)}`,
      );
      const colour = colours[servers.indexOf(life[0]?.server ?? "")];
      return `<polyline points="${points.join(" ")}" fill="none" stroke="${colour}"/>`;
    });
    const label = `x="${panel.left - 6}" text-anchor="end"`;
    return [
      `<text x="${panel.left}" y="${top + 12}">${title}</text>`,
      `<text ${label} y="${y(most) + 4}">${Number(most.toPrecision(3))} ${unit}</text>`,
      `<text ${label} y="${bottom}">0</text>`,
      `<path d="M${panel.left} ${bottom}h${panel.width}" stroke="#999"/>`,
      ...lines,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${panel.left + panel.width + 20}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>Resources of ${servers.join(" and ")} over ${hours} hours</title>`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="${panel.left}" y="14">${hours} hours: ${legend.join("")}</text>`,
    ...panels,
    "</svg>\n",
  ].join("\n");
}

/** Never empty: a line of equal values needs a height, too. */
function rangeOf(values: readonly number[]): [least: number, most: number] {
  const least = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  return most > least ? [least, most] : [least, least + 1];
}
