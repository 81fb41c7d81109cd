import { beforeAll, onTestFinished } from "vitest";
import type { NewPlant, PlantStore } from "../../../src/plant.ts";
import { BatchedStore } from "../../../src/store/batched-store.ts";
import { resolveLimits, type StoreOptions } from "../../../src/store/options.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { defaultPostgresLimits, type PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { openEngine } from "../../../src/store/postgres/open.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import {
  hasPostgres,
  type PostgresServer,
  type PostgresServerOptions,
  startPostgres,
} from "../../support/postgres-server.ts";
import { untilObstacle } from "../until-obstacle.ts";

/** A server for all tests of a file. Call it at the top level. */
export function useServer(options?: PostgresServerOptions): { readonly current: PostgresServer } {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (!hasPostgres) return;
    server = await startPostgres(options);
    return () => server?.[Symbol.asyncDispose]();
  }, 60_000);
  return {
    get current() {
      if (server === undefined) throw new Error("the server has not started");
      return server;
    },
  };
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

/** A store that is closed at the end of the test. */
export async function openTestStore(
  url: string,
  limits: Partial<PostgresLimits> = {},
  { onUnreachable, observer }: StoreOptions = {},
): Promise<PlantStore> {
  const address = parseAddress(url.slice("postgres:".length));
  const engine = await openEngine(address, { ...quickLimits, ...limits }, onUnreachable);
  const store = new BatchedStore(engine, resolveLimits(), { observer });
  onTestFinished(() => store.close());
  return store;
}

/** A store that detected an outage reports it until it detects its end. */
export async function untilReady(store: PlantStore): Promise<void> {
  await untilObstacle(store, undefined);
}

/** Reads the table as an operator would. */
export async function readPlants(server: PostgresDatabases, database: string): Promise<NewPlant[]> {
  const rows = await server.query("SELECT id, name, tag FROM plants ORDER BY id", database);
  return rows.map(({ id, name, tag }) => ({
    id: BigInt(String(id)),
    name: String(name),
    tag: tag === null ? undefined : String(tag),
  }));
}

/** The same URL through a proxy. */
export function through(proxy: { readonly port: number }, url: string): string {
  return url.replace(/:\d+\//, `:${proxy.port}/`);
}
