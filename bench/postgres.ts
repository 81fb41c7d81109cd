/** One PostgreSQL for a run of the bench, started on first use. */
import { migrateStore } from "../test/support/open-store.ts";
import { findPostgres } from "../test/support/postgres-installation.ts";
import { type PostgresServer, startPostgres } from "../test/support/postgres-server.ts";
import { spreadIds } from "./plant-ids.ts";
import type { ProgramStore } from "./program.ts";

export interface PostgresStore extends ProgramStore {
  readonly url: string;
}

/** Whether PostgreSQL is available. */
export const hasPostgres: boolean = findPostgres().length > 0;

/**
 * Settings that an operator would choose for a machine of this size. Durability settings keep their
 * defaults.
 */
const settings = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  max_connections: "200",
};

let started: Promise<PostgresServer> | undefined;

/** An empty store in its own database. */
export async function createPostgresStore(): Promise<PostgresStore> {
  started ??= startPostgres({ settings });
  const server = await started;
  const database = await server.createDatabase();
  return {
    url: server.url(database),
    async countPlants() {
      const [row] = await server.query("SELECT count(*)::float8 AS plants FROM plants", database);
      return Number(row?.["plants"]);
    },
    async fill(plants) {
      const { first, step } = spreadIds(plants);
      await migrateStore(server.url(database));
      await server.query(
        `INSERT INTO plants SELECT ${first} + n * ${step}::bigint, 'Basil', 'herb'
         FROM generate_series(0, ${plants - 1}::bigint) AS n`,
        database,
      );
      await server.query("VACUUM (ANALYZE) plants", database);
      await server.query("CHECKPOINT", database);
    },
  };
}

export async function stopPostgres(): Promise<void> {
  await (await started)?.[Symbol.asyncDispose]();
  started = undefined;
}
