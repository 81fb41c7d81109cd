/** The verdict on a soak, from its samples. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { type MetricName, metricNames, metrics, type Sample, writeReport } from "./report.ts";

const level = { memory: 150, objects: 20, code: 6, external: 8, files: 40, delay: 1, wal: 16 };

/** Two servers for two hours. In one of them, a metric grows by twice its limit. */
function samplesOf(growing?: MetricName): Sample[] {
  return ["SQLite", "PostgreSQL"].flatMap((server) =>
    Array.from({ length: 120 }, (_, minute) => {
      const isGrowing = growing !== undefined && server === "SQLite";
      const grown = isGrowing
        ? { [growing]: level[growing] + (metrics[growing].limit * minute) / 30 }
        : {};
      return { server, atMs: minute * 60_000, values: { ...level, ...grown } };
    }),
  );
}

test.each(metricNames)("a %s that grows is found, only in its server", async (name) => {
  await using folder = await createTemporaryFolder();
  const found = await writeReport(folder.path, samplesOf(name));
  expect(found).toEqual([expect.stringContaining(`SQLite: ${metrics[name].title} grows by`)]);
  const table = await readFile(join(folder.path, "slopes.md"), "utf8");
  expect(table.split("\n").filter((line) => line.includes("too steep"))).toHaveLength(1);
});

test("without growth, nothing is found; everything is in the table", async () => {
  await using folder = await createTemporaryFolder();
  expect(await writeReport(folder.path, samplesOf())).toEqual([]);
  const table = await readFile(join(folder.path, "slopes.md"), "utf8");
  for (const name of metricNames) expect(table.split(metrics[name].title)).toHaveLength(3);
});
