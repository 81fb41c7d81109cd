import type { Bench } from "../bench.ts";
import { readProcessUsage } from "../process-usage.ts";
import { plantStore } from "../programs.ts";
import { type Row, rows } from "../rows.ts";
import { Session } from "../session.ts";
import { slope } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure } from "../table.ts";
import type { Part } from "./part.ts";

/** Whether the memory of a server grows as it stores plants. */
export const memory: Part = {
  async run(bench) {
    const samples = new Map<string, readonly Sample[]>();
    const measurable = rows.filter(
      ({ kind, program }) => kind !== "connect" && program === plantStore,
    );
    for (const row of measurable) samples.set(row.name, await measure(bench, row));
    const plants = bench.plan.memorySteps * bench.plan.memoryStepPlants;
    return {
      table: {
        title: `Memory over ${figure(plants, 0)} creates`,
        columns: [
          "server",
          "RSS MiB in the middle",
          "at the end",
          "RSS MiB per 100k creates",
          "heap MiB in the middle",
          "at the end",
          "heap MiB per 100k creates",
        ],
        rows: [...samples].map(([name, values]) => [
          name,
          ...describe(values, "rssBytes"),
          ...describe(values, "heapBytes"),
        ]),
        notes: [],
      },
      measured: Object.fromEntries(samples),
    };
  },
};

interface Sample {
  readonly created: number;
  readonly rssBytes: number | undefined;
  /** The main thread's heap after a garbage collection. */
  readonly heapBytes: number;
}

async function measure(bench: Bench, row: Row): Promise<readonly Sample[]> {
  const { memorySteps, memoryStepPlants: requests } = bench.plan;
  await using folder = await createStoreFolder(bench.folder);
  const start = await row.program.open(folder.path);
  await using session = await Session.open(bench, start, { kind: row.kind, probe: true });
  const samples: Sample[] = [];
  for (let step = 1; step <= memorySteps; step++) {
    await session.loadClosed({ requests });
    const heapBytes = await session.server.heapBytes();
    const rssBytes = readProcessUsage(session.server.pid)?.rssBytes;
    samples.push({ created: step * requests, rssBytes, heapBytes });
    bench.log(`memory, ${row.name}: ${figure(step * requests, 0)} creates`);
  }
  await session.close();
  return samples;
}

/** Only the second half, when caches are full and code is compiled. */
function describe(samples: readonly Sample[], key: "rssBytes" | "heapBytes"): readonly string[] {
  const mib = samples
    .slice(samples.length / 2)
    .flatMap(({ created, [key]: bytes }) =>
      bytes === undefined ? [] : [[created / 100_000, bytes / 2 ** 20] as const],
    );
  if (mib.length < 2) return ["–", "–", "–"];
  return [figure(mib[0]?.[1], 1), figure(mib.at(-1)?.[1], 1), figure(slope(mib), 2)];
}
