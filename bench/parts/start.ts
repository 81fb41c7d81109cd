import { setTimeout } from "node:timers/promises";
import type { Bench } from "../bench.ts";
import { runGenerator } from "../load/run-generator.ts";
import { runLoad } from "../load/run-load.ts";
import { readProcessUsage } from "../process-usage.ts";
import { findMeasurable, type Row, rows } from "../rows.ts";
import { startServer } from "../server-process.ts";
import { median } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure } from "../table.ts";
import type { Part } from "./part.ts";

/** How long a new process takes to its first answer, and the memory that it has then. */
export const start: Part = {
  async run(bench) {
    const measured: Record<string, Started[]> = {};
    const rest = rows.filter(({ kind }) => kind === "rest");
    const measurable = await findMeasurable(bench, rest);
    for (let n = 1; n <= bench.plan.starts; n++) {
      for (const row of measurable) {
        measured[row.name] = [...(measured[row.name] ?? []), await measure(bench, row)];
      }
      bench.log(`start ${n} of ${bench.plan.starts}`);
    }
    return {
      table: {
        title: "Start",
        columns: [
          "server",
          "ms to the first answer",
          "shortest",
          "longest",
          "RSS MiB when idle",
          `after ${loadedConnections} connections`,
        ],
        rows: Object.entries(measured).map(([name, starts]) => {
          const ms = starts.map(({ firstAnswerMs }) => firstAnswerMs);
          return [
            name,
            figure(median(ms), 0),
            figure(Math.min(...ms), 0),
            figure(Math.max(...ms), 0),
            figure(medianMib(starts.map(({ idleBytes }) => idleBytes)), 0),
            figure(medianMib(starts.map(({ loadedBytes }) => loadedBytes)), 0),
          ];
        }),
        notes: [],
      },
      measured,
    };
  },
};

interface Started {
  readonly firstAnswerMs: number;
  /** RSS, the program's own pages included. */
  readonly idleBytes: number | undefined;
  /** Directly after a load. */
  readonly loadedBytes: number | undefined;
}

const loadedConnections = 64;

/** By then a server has loaded what it wants soon after a start. */
const settleMs = 2000;

async function measure(bench: Bench, { name, program, kind }: Row): Promise<Started> {
  await using folder = await createStoreFolder(bench.folder);
  const command = await program.open(folder.path);
  const spawnedAt = performance.now();
  await using server = await startServer(command);
  const load = { urls: [server.url], kind, streams: 1 } as const;
  const ids = () => ({ stream: bench.ids.take(), order: "ascending" }) as const;
  const one = { ...load, ids: ids(), connections: 1, until: { requests: 1 } };
  const { failed } = await runLoad(one);
  const firstAnswerMs = performance.now() - spawnedAt;
  if (failed > 0) throw new Error(`the first answer of ${name} is wrong`);
  await setTimeout(settleMs);
  const idleBytes = readProcessUsage(server.pid)?.rssBytes;
  const { peakSeconds: seconds } = bench.plan;
  await runGenerator({ ...load, ids: ids(), connections: loadedConnections, until: { seconds } });
  const loadedBytes = readProcessUsage(server.pid)?.rssBytes;
  await server.stop();
  return { firstAnswerMs, idleBytes, loadedBytes };
}

function medianMib(bytes: readonly (number | undefined)[]): number | undefined {
  const known = bytes.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known) / 2 ** 20;
}
