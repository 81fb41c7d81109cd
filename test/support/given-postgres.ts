/**
 * A database given to the tests instead of one that they start. `PLANT_STORE_TEST_POSTGRES` is its
 * URL. Its role must be able to create roles and schemas. Also works behind a pooler, and
 * distributed.
 */
import { randomBytes } from "node:crypto";
import { migrateStore } from "../../src/store/open.ts";
import { queryPostgres } from "./postgres-client.ts";
import { password } from "./postgres-databases.ts";

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
