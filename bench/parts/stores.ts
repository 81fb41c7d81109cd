import { join } from "node:path";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { assertStored } from "../account.ts";
import type { Bench } from "../bench.ts";
import type { Load, LoadResult } from "../load/load.ts";
import { runGenerator } from "../load/run-generator.ts";
import { storeConcurrency } from "../plan.ts";
import { createPostgresStore, hasPostgres } from "../postgres.ts";
import type { ProgramStore, Start } from "../program.ts";
import { serve, serveOneByOne } from "../programs.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { countStoredPlants, fillStore } from "../sqlite-store.ts";
import { median } from "../statistics.ts";
import { createStoreFolder } from "../store-folder.ts";
import { figure, type Table } from "../table.ts";
import type { Part } from "./part.ts";

/** The same load on each store engine, with one or several servers. */
export const stores: Part = {
  async run(bench) {
    const rounds = new Map<string, Round[]>(setups.map(({ name }) => [name, []]));
    for (let round = 1; round <= bench.plan.rounds; round++) {
      for (const setup of setups) {
        const result = await measure(bench, setup);
        rounds.get(setup.name)?.push(result);
        bench.log(
          `stores, round ${round}, ${setup.name}: ${figure(result.requestsPerSecond, 0)} requests/s`,
        );
      }
    }
    return { table: createTable(rounds), measured: Object.fromEntries(rounds) };
  },
};

type Round = Pick<LoadResult, "requestsPerSecond" | "p50Ms" | "p99Ms">;

/** A store and its servers. Add a row to measure another. */
interface Setup {
  readonly name: string;
  open(folder: string): Promise<Opened>;
}

interface Opened {
  readonly servers: readonly Start[];
  readonly store: ProgramStore;
}

const oneByOne = "PostgreSQL, a statement for each request";

const onSqlite: readonly Setup[] = [{ name: "SQLite", open: openSqlite }];

const onPostgres: readonly Setup[] = [
  {
    name: "PostgreSQL",
    open: (folder) => openPostgres((url) => [serve(folder, url)]),
  },
  {
    name: "PostgreSQL, 2 servers",
    open: (folder) =>
      openPostgres((url) => [serve(join(folder, "1"), url), serve(join(folder, "2"), url)]),
  },
  {
    name: "PostgreSQL, 2 servers on one port",
    async open(folder) {
      const shared = ["--port", `${await findFreePort()}`, "--reuse-port", "on"];
      return await openPostgres((url) =>
        ["1", "2"].map((name) => serve(join(folder, name), url, ...shared)),
      );
    },
  },
  {
    name: oneByOne,
    open: () => openPostgres((url) => [serveOneByOne(url)]),
  },
  {
    name: `${oneByOne}, 32 connections`,
    open: () => openPostgres((url) => [serveOneByOne(`${url}?pool_max_conns=32`)]),
  },
];

const setups: readonly Setup[] = hasPostgres ? [...onSqlite, ...onPostgres] : onSqlite;

async function openSqlite(folder: string): Promise<Opened> {
  const file = join(folder, "plants.db");
  return {
    servers: [serve(folder, `sqlite:${file}`)],
    store: {
      countPlants: () => countStoredPlants(file),
      fill: (plants) => fillStore(file, plants),
    },
  };
}

async function openPostgres(serversOn: (url: string) => readonly Start[]): Promise<Opened> {
  const store = await createPostgresStore();
  return { servers: serversOn(store.url), store };
}

async function measure(bench: Bench, { name, open }: Setup): Promise<Round> {
  const { warmUpSeconds, peakSeconds } = bench.plan;
  await using folder = await createStoreFolder(bench.folder);
  const opened = await open(folder.path);
  const servers: ServerProcess[] = [];
  try {
    for (const start of opened.servers) servers.push(await startServer(start));
    const urls = servers.map(({ url }) => url);
    const first = await load(bench, urls, { seconds: warmUpSeconds });
    const peak = await load(bench, urls, { seconds: peakSeconds });
    for (const server of servers) await server.stop();
    const acknowledged = first.created + peak.created;
    assertStored(await opened.store.countPlants(), { acknowledged, unanswered: 0 });
    return peak;
  } catch (cause) {
    throw new Error(`${name} could not be measured`, { cause });
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

async function load(
  bench: Bench,
  urls: readonly string[],
  until: Load["until"],
): Promise<LoadResult> {
  const ids = { stream: bench.ids.take(), order: "ascending" } as const;
  const result = await runGenerator({ urls, kind: "grpc", ids, ...storeConcurrency, until });
  if (result.failed > 0) throw new Error(`${result.failed} requests failed`);
  return result;
}

function createTable(rounds: ReadonlyMap<string, readonly Round[]>): Table {
  const of = (name: string, key: keyof Round) => {
    const values = rounds.get(name)?.map((round) => round[key]) ?? [];
    return values.length === 0 ? undefined : median(values);
  };
  const single = of(oneByOne, "requestsPerSecond");
  return {
    title: "Stores, 256 requests at a time by gRPC",
    columns: ["store", "requests/s", "p50 ms", "p99 ms", "of one statement for each"],
    rows: [...rounds.keys()].map((name) => {
      const rate = of(name, "requestsPerSecond");
      return [
        name,
        figure(rate, 0),
        figure(of(name, "p50Ms"), 2),
        figure(of(name, "p99Ms"), 2),
        figure(rate && single && rate / single, 2),
      ];
    }),
    notes: [],
  };
}
