import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { textFields } from "../../src/plant.ts";
import { migrateStore } from "./open-store.ts";
import { queryPostgres } from "./postgres-client.ts";
import { type PostgresDatabases, password } from "./postgres-databases.ts";
import { hasPostgres, startPostgres } from "./postgres-server.ts";
import { findSharedPostgres } from "./shared-postgres.ts";
import { readStoredPlants, type StoredPlant } from "./stored-plants.ts";

/** A location for a new store. Removed with its contents at the end of an `await using`. */
export interface StorePlace extends AsyncDisposable {
  readonly url: string;
  /** Reads its plants byte for byte, in the order of the ids, as an operator would. */
  read(): Promise<readonly StoredPlant[]>;
}

/** A kind of store, as a row for tests of what all of them promise. */
export interface StoreKind {
  readonly store: string;
  readonly isMissing: boolean;
  open(): Promise<StorePlace>;
}

export const sqliteKind: StoreKind = {
  store: "SQLite",
  isMissing: false,
  async open() {
    const folder = await createTemporaryFolder();
    const database = join(folder.path, "data/plants.db");
    return {
      url: `sqlite:${database}`,
      read: async () => readStoredPlants(database),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    };
  },
};

/**
 * The URL of a database given to the tests instead of one that they start. Its role must be able to
 * create roles and schemas. Also works behind a pooler, and distributed.
 */
const given = process.env["PLANT_STORE_TEST_POSTGRES"];

export const isPostgresGiven = given !== undefined;

/**
 * Creates a schema with the store's tables, distributed if the database is Citus, and a role of the
 * same name, whose search path contains only this schema.
 */
export async function openGivenSchema() {
  const admin = new URL(given ?? "");
  const name = `plants_${randomBytes(6).toString("hex")}`;
  await queryPostgres(
    admin.href,
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}'; GRANT ${name} TO CURRENT_USER;
     CREATE SCHEMA ${name} AUTHORIZATION ${name}; ALTER ROLE ${name} SET search_path = ${name}`,
  );
  const own = new URL(admin);
  own.username = name;
  own.password = password;
  const url = own.href;
  const query = (sql: string) => queryPostgres(url, sql);
  await migrateStore(url);
  const [citus] = await query("SELECT to_regproc('create_distributed_table') AS found");
  if (citus?.["found"] !== null) await query("SELECT create_distributed_table('plants', 'id')");
  return {
    ...{ url, query },
    async [Symbol.asyncDispose]() {
      await queryPostgres(admin.href, `DROP SCHEMA ${name} CASCADE`);
      await queryPostgres(admin.href, `DROP ROLE ${name}`);
    },
  };
}

export const postgresKind: StoreKind = {
  store: "PostgreSQL",
  isMissing: !hasPostgres && !isPostgresGiven,
  async open() {
    if (isPostgresGiven) {
      const schema = await openGivenSchema();
      return { ...schema, read: () => readPostgresPlants(schema) };
    }
    const shared = findSharedPostgres();
    const own = shared === undefined ? await startPostgres() : undefined;
    const server = (shared ?? own) as PostgresDatabases;
    const database = await server.createDatabase();
    return {
      url: server.url(database),
      read: () => readPostgresPlants(server, database),
      async [Symbol.asyncDispose]() {
        await own?.[Symbol.asyncDispose]();
        await shared?.query(`DROP DATABASE ${database} WITH (FORCE)`);
      },
    };
  },
};

export const storeKinds: readonly StoreKind[] = [sqliteKind, postgresKind];

/** Reads the plants of a database byte for byte, in the order of the ids. */
export async function readPostgresPlants(
  { query }: Pick<PostgresDatabases, "query">,
  database?: string,
): Promise<readonly StoredPlant[]> {
  const rows = await query(everyPlant, database);
  return rows.map((row) => ({ ...row, id: BigInt(`${row["id"]}`) }) as StoredPlant);
}

const hexOf = (field: string) => `upper(encode(convert_to(${field}, 'UTF8'), 'hex')) AS ${field}`;
const everyPlant = `SELECT id, ${textFields.map(hexOf).join(", ")} FROM plants ORDER BY id`;
