import type { Bench } from "../bench.ts";
import { runLoad } from "../load/run-load.ts";
import { findMeasurable, type Row, rows } from "../rows.ts";
import { startServer } from "../server-process.ts";
import { median } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure } from "../table.ts";
import type { Part } from "./part.ts";

/** The time from starting a process to its first answer. */
export const start: Part = {
  async run(bench) {
    const measured: Record<string, number[]> = {};
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
        columns: ["server", "ms to the first answer", "shortest", "longest"],
        rows: Object.entries(measured).map(([name, ms]) => [
          name,
          figure(median(ms), 0),
          figure(Math.min(...ms), 0),
          figure(Math.max(...ms), 0),
        ]),
        notes: [],
      },
      measured,
    };
  },
};

async function measure(bench: Bench, { name, program, kind }: Row): Promise<number> {
  await using folder = await createStoreFolder(bench.folder);
  const command = await program.open(folder.path);
  const spawnedAt = performance.now();
  await using server = await startServer(command);
  const { failed } = await runLoad({
    urls: [server.url],
    kind,
    ids: { stream: bench.ids.take(), order: "ascending" },
    connections: 1,
    streams: 1,
    until: { requests: 1 },
  });
  const ms = performance.now() - spawnedAt;
  if (failed > 0) throw new Error(`the first answer of ${name} is wrong`);
  await server.stop();
  return ms;
}
