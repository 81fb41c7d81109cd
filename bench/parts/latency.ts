import { type BareSync, measureBareSync } from "../bare-sync.ts";
import type { Bench } from "../bench.ts";
import { latencyConcurrency } from "../plan.ts";
import { cpuUsPerRequest, readProcessUsage } from "../process-usage.ts";
import { findMeasurable, named, type Row, rows } from "../rows.ts";
import { Session } from "../session.ts";
import { median, medianOfKnown } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

/** Latency of each durable server with few and with many callers, compared with a disk sync. */
export const latency: Part = {
  async run(bench) {
    const durable = rows.filter(({ kind, program }) => program.isDurable && kind !== "connect");
    const measurable = await findMeasurable(bench, durable);
    const samples: Sample[] = [];
    const syncs: BareSync[] = [];
    for (let round = 1; round <= bench.plan.latency.rounds; round++) {
      // Alternates the order, so that none always follows the same other one.
      const order = round % 2 === 0 ? measurable.toReversed() : measurable;
      syncs.push(await measureSync(bench));
      samples.push(...(await measureRound(bench, order)));
      bench.log(`latency, round ${round} of ${bench.plan.latency.rounds}`);
    }
    return { table: createTable(measurable, samples, syncs), measured: { samples, syncs } };
  },
};

interface Sample {
  readonly name: string;
  readonly atATime: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number | undefined;
}

async function measureSync({ folder: parent, plan }: Bench): Promise<BareSync> {
  await using folder = await createStoreFolder(parent);
  return await measureBareSync(folder.path, plan.latency.seconds);
}

/** Starts all servers and loads them in turn, first with one concurrent request, then with more. */
async function measureRound(bench: Bench, order: readonly Row[]): Promise<readonly Sample[]> {
  await using running = new AsyncDisposableStack();
  const sessions = new Map<Row, Session>();
  for (const row of order) {
    await named(row, async () => {
      const folder = running.use(await createStoreFolder(bench.folder));
      const start = await row.program.open(folder.path);
      const session = running.use(await Session.open(bench, start, { kind: row.kind }));
      await session.loadClosed({ seconds: bench.plan.warmUpSeconds });
      sessions.set(row, session);
    });
  }
  const samples: Sample[] = [];
  for (const { atATime, ...concurrency } of latencyConcurrency) {
    for (const [row, session] of sessions) {
      await named(row, async () => {
        const { pid } = session.server;
        const before = readProcessUsage(pid);
        const result = await session.loadAt(concurrency, bench.plan.latency.seconds);
        const serverCpuUs = cpuUsPerRequest(before, readProcessUsage(pid), result.created);
        const { requestsPerSecond, p50Ms, p99Ms } = result;
        samples.push({ name: row.name, atATime, requestsPerSecond, p50Ms, p99Ms, serverCpuUs });
      });
    }
  }
  for (const [row, session] of sessions) await named(row, async () => void (await session.close()));
  return samples;
}

function createTable(
  measurable: readonly Row[],
  samples: readonly Sample[],
  syncs: readonly BareSync[],
): Table {
  const sync = (key: keyof BareSync) => figure(median(syncs.map((one) => one[key])), 2);
  const describe = (name: string, atATime: number) => {
    const own = samples.filter((sample) => sample.name === name && sample.atATime === atATime);
    const of = (key: Exclude<keyof Sample, "name">) => medianOfKnown(own.map((one) => one[key]));
    return [
      name,
      figure(atATime, 0),
      figure(of("p50Ms"), 2),
      figure(of("p99Ms"), 2),
      figure(of("requestsPerSecond"), 0),
      figure(of("serverCpuUs"), 1),
    ];
  };
  const isRest = ({ kind }: Row) => kind === "rest";
  const groups = [measurable.filter(isRest), measurable.filter((row) => !isRest(row))];
  return {
    title: "Latency",
    columns: ["server", "at a time", "p50 ms", "p99 ms", "requests/s", "CPU µs/request"],
    rows: [
      ["4 KiB appended and synced", "1", sync("p50Ms"), sync("p99Ms"), "–", "–"],
      ...groups.flatMap((group) =>
        latencyConcurrency.flatMap(({ atATime }) =>
          group.map(({ name }) => describe(name, atATime)),
        ),
      ),
    ],
    notes: [],
  };
}
