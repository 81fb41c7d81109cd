import { DatabaseSync } from "node:sqlite";
import { openPostgresClient, type PostgresClient } from "../../support/postgres-client.ts";
import { readRows } from "../../support/sqlite-rows.ts";

/** Problems that the engine itself finds in its files; empty if there are none. */
export async function checkIntegrity(storeUrl: string): Promise<readonly string[]> {
  const [, path] = /^sqlite:(.*)$/.exec(storeUrl) ?? [];
  return path === undefined ? await checkPostgres(storeUrl) : checkSqlite(path);
}

export function checkSqlite(path: string): readonly string[] {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const rows = readRows<{ integrity_check: string }>(db, "PRAGMA integrity_check");
  return rows.map((row) => row.integrity_check).filter((line) => line !== "ok");
}

async function checkPostgres(url: string): Promise<readonly string[]> {
  await using client = await openPostgresClient(url);
  try {
    const found = await client.query(
      `SELECT FROM pg_available_extensions, pg_roles
       WHERE name = 'amcheck' AND rolname = current_user AND rolsuper`,
    );
    // Not every installation has it. Without it, only the rows found through the index are
    // compared.
    if (found.length === 1) {
      await client.query("CREATE EXTENSION IF NOT EXISTS amcheck");
      await client.query("SELECT bt_index_check('plants_pkey', true)");
    }
    const byTable = await count(client, ["indexscan", "indexonlyscan", "bitmapscan"]);
    const byIndex = await count(client, ["seqscan"]);
    return byTable === byIndex ? [] : [`${byTable} rows in the table, ${byIndex} in its index`];
  } catch (error) {
    return [String(error)];
  }
}

/** Counts all rows with some ways of reading them disabled. */
async function count(client: PostgresClient, off: readonly string[]): Promise<unknown> {
  await client.query("BEGIN");
  for (const way of off) await client.query(`SET LOCAL enable_${way} = off`);
  const [row] = await client.query(
    "SELECT count(*) AS count FROM plants WHERE id >= -9223372036854775808",
  );
  await client.query("COMMIT");
  return row?.["count"];
}
