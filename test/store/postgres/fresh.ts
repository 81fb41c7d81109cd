import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, onTestFinished } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { type NewPlant, type PlantStore, plantFrom, textFields } from "../../../src/plant.ts";
import { parsePostgresUrl } from "../../../src/server/postgres-url.ts";
import { createBatchedStore } from "../../../src/store/batched-store.ts";
import type { StoreOptions } from "../../../src/store/options.ts";
import { defaultPostgresLimits, type PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { openEngine } from "../../../src/store/postgres/open.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { findSharedPostgres } from "../../support/shared-postgres.ts";

/** A server for all tests of a file. Call it at the top level. */
export function useServer(options?: Parameters<typeof startPostgres>[0]) {
  const server = {} as { current: PostgresServer };
  beforeAll(async () => {
    if (!hasPostgres) return;
    server.current = await startPostgres(options);
    return () => server.current[Symbol.asyncDispose]();
  });
  return server;
}

/** For tests without a machine crash; processes may crash. Creating a database is faster. */
export const withoutSync = { fsync: "off" } as const;

/**
 * The limits of production, except that those that a test waits for are a hundred times shorter.
 */
export const quickLimits: PostgresLimits = {
  ...defaultPostgresLimits,
  statementTimeoutMs: 300,
  cancelGraceMs: 200,
  retryLimitMs: 4000,
  backoffMinMs: 5,
  backoffMaxMs: 50,
};

/** An engine as a store has it. The caller closes it. */
export function openTestEngine(
  url: string,
  limits: Partial<PostgresLimits> = {},
  onUnreachable?: StoreOptions["onUnreachable"],
) {
  const address = parsePostgresUrl(url.slice("postgres:".length));
  return openEngine(address, { ...quickLimits, ...limits }, onUnreachable);
}

/** A store that is closed at the end of the test. */
export async function openTestStore(
  url: string,
  limits: Partial<PostgresLimits> = {},
  { onUnreachable, observer }: StoreOptions = {},
): Promise<PlantStore> {
  const engine = await openTestEngine(url, limits, onUnreachable);
  const store = createBatchedStore(engine, { observer });
  onTestFinished(() => store.close());
  return store;
}

/** A new database, and what a test does with it. */
export async function openDatabase(server: PostgresDatabases, options?: string) {
  const database = await server.createDatabase(options);
  if (server === findSharedPostgres()) {
    // In memory, 8 MB each; a run of mutants creates thousands.
    onTestFinished(async () => void (await server.query(`DROP DATABASE ${database} WITH (FORCE)`)));
  }
  const query = (sql: string) => server.query(sql, database);
  return {
    database,
    url: server.url(database),
    query,
    kept: () => readPlants(server, database),
    /** The URL for a role that may only do this to plants. */
    async urlFor(rights: string, ...params: string[]): Promise<string> {
      const role = await server.createRole();
      await query(`GRANT ${rights} ON plants TO ${role};
        GRANT SELECT ON plant_store_migrations TO ${role}`);
      return server.url(database, role, ...params);
    },
    /** Of the sessions in which something is true. */
    sessions: (condition = "true", wanted = "pid") =>
      server.query(
        `SELECT ${wanted} FROM pg_stat_activity WHERE datname = '${database}' AND ${condition}`,
      ),
  };
}

/** A new database, and a store on it that is closed at the end of the test. */
export async function openFresh(server: PostgresDatabases, limits: Partial<PostgresLimits> = {}) {
  const database = await openDatabase(server);
  return { ...database, store: await openTestStore(database.url, limits) };
}

/** Reads the table as an operator would. */
export async function readPlants(server: PostgresDatabases, database: string): Promise<NewPlant[]> {
  return toPlants(await server.query(selectPlants, database));
}

export const selectPlants = `SELECT id, ${textFields.join(", ")} FROM plants ORDER BY id`;

export function toPlants(rows: readonly Record<string, unknown>[]): NewPlant[] {
  return rows.map(({ id, ...texts }) =>
    plantFrom(BigInt(String(id)), (field) => texts[field] as string | null),
  );
}

/** Waits until something is so. Each look asks a server, in a session of its own. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const looking = async () => {
    while (!(await isSo())) await delay(10);
  };
  await within(what, looking());
}

/** The same URL through a proxy. */
export function through(proxy: { readonly port: number }, url: string): string {
  return url.replace(/:\d+\//, `:${proxy.port}/`);
}
