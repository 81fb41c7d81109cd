/** The report on a soak's samples: a verdict, a table, a plot. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { plotOf } from "./plot.ts";
import { metricNames, metrics, type Sample } from "./sample.ts";
import { isGrowing, slopeOf } from "./slope.ts";

/** Writes `slopes.md` and `soak.svg`. @returns a line for each slope that is too steep. */
export async function writeReport(folder: string, samples: readonly Sample[]): Promise<string[]> {
  const rows = judge(samples);
  await writeFile(join(folder, "slopes.md"), tableOf(rows));
  await writeFile(join(folder, "soak.svg"), plotOf(samples));
  return rows
    .filter(({ isTooSteep }) => isTooSteep)
    .map(({ server, title, slope }) => `${server}: ${title} grows by ${slope}`);
}

interface Row {
  readonly server: string;
  readonly title: string;
  /** Including its confidence interval. */
  readonly slope: string;
  readonly limit: string;
  readonly range: string;
  readonly isTooSteep: boolean;
}

/** Each metric of each server. */
export function judge(samples: readonly Sample[]): readonly Row[] {
  return [...Map.groupBy(samples, ({ server }) => server)].flatMap(([server, own]) =>
    metricNames.map((name) => {
      const { title, unit, limit } = metrics[name];
      const lives = [...Map.groupBy(own, ({ life }) => life).values()].map((life) =>
        life.map(({ atMs, values }) => ({ atMs, value: values[name] })),
      );
      const slope = slopeOf(lives);
      const values = own.map((sample) => sample.values[name]).sort((a, b) => a - b);
      const show = (value: number | undefined) => `${Number((value ?? 0).toFixed(2))}`;
      return {
        server,
        title,
        slope:
          slope === undefined
            ? "too short to say"
            : `${show(slope.perHour)} ${unit} an hour (${show(slope.lowest)} to ${show(slope.highest)})`,
        limit: `${limit} ${unit}`,
        range: `${show(values[0])} to ${show(values.at(-1))} ${unit}`,
        isTooSteep: isGrowing(slope, limit),
      };
    }),
  );
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ server, title, range, slope, limit, isTooSteep }) =>
      `| ${server} | ${title} | ${range} | ${slope} | ${limit} | ${isTooSteep ? "too steep" : "ok"} |`,
  );
  return [
    "| Server | What | Range | Slope (99 % interval) | Limit an hour | Verdict |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
}
