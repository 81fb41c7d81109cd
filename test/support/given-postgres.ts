/**
 * A database given to the tests instead of one that they start. `PLANT_STORE_TEST_POSTGRES` is its
 * URL. Its role must be able to create roles and schemas. Also works behind a pooler, and
 * distributed.
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { migrateStore } from "../../src/store/open.ts";
import { password } from "./postgres-databases.ts";

/** A schema and a role with the same name, whose search path contains only this schema. */
export interface GivenSchema extends AsyncDisposable {
  readonly url: string;
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
}

const given = process.env["PLANT_STORE_TEST_POSTGRES"];

export const isPostgresGiven = given !== undefined;

/** Creates a schema with the store's tables, distributed if the database is Citus. */
export async function openGivenSchema(): Promise<GivenSchema> {
  const admin = new URL(given ?? "");
  const name = `plants_${randomBytes(6).toString("hex")}`;
  await run(
    admin.href,
    `CREATE ROLE ${name} LOGIN PASSWORD '${password}'; GRANT ${name} TO CURRENT_USER;
     CREATE SCHEMA ${name} AUTHORIZATION ${name}; ALTER ROLE ${name} SET search_path = ${name}`,
  );
  const own = new URL(admin);
  own.username = name;
  own.password = password;
  const url = own.href;
  await migrateStore(url);
  const [citus] = await run(url, "SELECT to_regproc('create_distributed_table') AS found");
  if (citus?.["found"] !== null) {
    await run(url, "SELECT create_distributed_table('plants', 'id')");
  }
  return {
    url,
    query: (sql) => run(url, sql),
    async [Symbol.asyncDispose]() {
      await run(admin.href, `DROP SCHEMA ${name} CASCADE`);
      await run(admin.href, `DROP ROLE ${name}`);
    },
  };
}

async function run(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
