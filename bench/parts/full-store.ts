import type { Bench } from "../bench.ts";
import type { IdOrder } from "../plant-ids.ts";
import { hasPostgres } from "../postgres.ts";
import type { Program, Start } from "../program.ts";
import { plantStore, plantStoreOnPostgres } from "../programs.ts";
import { Session } from "../session.ts";
import { median } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure } from "../table.ts";
import type { Part } from "./part.ts";

/** The effect of stored plants on the cost of new ones. */
export const fullStore: Part = {
  async run(bench) {
    const measured: Record<string, readonly Round[]> = {};
    for (const [name, program] of engines) {
      measured[name] = await measure(bench, name, program);
    }
    return {
      table: {
        title: `A store of ${figure(bench.plan.fullStorePlants, 0)} plants`,
        columns: [
          "engine",
          "ids",
          "requests/s, empty",
          "full",
          "full/empty",
          "p99 ms, empty",
          "full",
        ],
        rows: Object.entries(measured).flatMap(([name, rounds]) =>
          orders.map((order) => [name, order, ...compare(rounds, order)]),
        ),
        notes: [],
      },
      measured,
    };
  },
};

const engines: readonly (readonly [name: string, Program])[] = [
  ["SQLite", plantStore],
  ...(hasPostgres ? [["PostgreSQL", plantStoreOnPostgres] as const] : []),
];

const orders: readonly IdOrder[] = ["ascending", "random"];

interface Round {
  readonly order: IdOrder;
  readonly isFull: boolean;
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
}

async function measure(bench: Bench, name: string, program: Program): Promise<readonly Round[]> {
  await using fullFolder = await createStoreFolder(bench.folder);
  const full = await program.open(fullFolder.path);
  bench.log(`full store, ${name}: filling it`);
  let plants = bench.plan.fullStorePlants;
  await full.store?.fill(plants);
  const rounds: Round[] = [];
  for (let round = 1; round <= bench.plan.rounds; round++) {
    for (const order of orders) {
      await using folder = await createStoreFolder(bench.folder);
      const empty = await program.open(folder.path);
      const intoEmpty = await load(bench, empty, { order, plants: 0 });
      const intoFull = await load(bench, full, { order, plants });
      plants = intoFull.stored;
      rounds.push({ order, isFull: false, ...intoEmpty }, { order, isFull: true, ...intoFull });
      bench.log(`full store, round ${round}, ${name}, ${order} ids`);
    }
  }
  return rounds;
}

async function load(
  bench: Bench,
  start: Start,
  options: { readonly order: IdOrder; readonly plants: number },
): Promise<{ requestsPerSecond: number; p99Ms: number; stored: number }> {
  await using session = await Session.open(bench, start, { kind: "grpc", ...options });
  await session.loadToPeak(bench.plan.warmUpSeconds);
  const { requestsPerSecond, p99Ms } = await session.loadToPeak(bench.plan.peakSeconds);
  return { requestsPerSecond, p99Ms, stored: (await session.close()) ?? 0 };
}

function compare(rounds: readonly Round[], order: IdOrder): readonly string[] {
  const of = (isFull: boolean, key: "requestsPerSecond" | "p99Ms") =>
    median(
      rounds
        .filter((round) => round.order === order && round.isFull === isFull)
        .map((round) => round[key]),
    );
  const [empty, full] = [of(false, "requestsPerSecond"), of(true, "requestsPerSecond")];
  return [
    figure(empty, 0),
    figure(full, 0),
    figure(full / empty, 2),
    figure(of(false, "p99Ms"), 2),
    figure(of(true, "p99Ms"), 2),
  ];
}
