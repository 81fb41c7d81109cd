/** The report on a soak's samples: a verdict, a table, a plot. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { plotOf } from "./plot.ts";
import { metricNames, metrics, type Sample } from "./sample.ts";
import { isGrowing, slopeOf } from "./slope.ts";

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
      const cells = [
        server,
        title,
        range,
        growth ?? "too short to say",
        `${limit} ${unit}`,
        verdict,
      ];
      lines.push(`| ${cells.join(" | ")} |`);
      if (isTooSteep) found.push(`${server}: ${title} grows by ${growth}`);
    }
  }
  await writeFile(join(folder, "slopes.md"), `${lines.join("\n")}\n`);
  await writeFile(join(folder, "soak.svg"), plotOf(samples));
  return found;
}
