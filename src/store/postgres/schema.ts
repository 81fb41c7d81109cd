import { readFileSync } from "node:fs";
import { textFields } from "../../plant.ts";
import { StoreOpenError } from "../open-error.ts";
import { describeHost } from "./address.ts";
import { sqlState } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/** In order. The schema version is the number of applied migrations. */
export const migrations = ["0001_plants.sql"] as const;

/**
 * How much newer than a release a schema may be. A migration only adds what the release before can
 * ignore; what no release needs is removed one version later. So servers of two releases share a
 * database, and the older one can start again.
 */
const newerMax = 1;

/** "PLNT": the advisory lock for migrating this database. */
const lockKey = 0x50_4c_4e_54;

/** Of races without advisory locks: serialization_failure, unique_violation, duplicate_*. */
const raceStates: ReadonlySet<string> = new Set(["40001", "23505", "42P07", "42701", "42710"]);
const racesMax = 20;

/** @returns The number of applied migrations. @throws {StoreOpenError} `foreign`, `newer_schema` */
export async function readSchemaVersion(session: Session, timeoutMs?: number): Promise<number> {
  const host = describeHost(session.host);
  session.schema ??= await findSchema(session, timeoutMs);
  const look = async () => (await session.query(findTables, [], timeoutMs))[0] ?? [];
  let [hasMigrations, hasPlants] = await look();
  // Another process may have created both tables between the two lookups.
  if (!hasMigrations && hasPlants) [hasMigrations, hasPlants] = await look();
  if (!hasMigrations) {
    if (!hasPlants) return 0;
    const problem = `the database at ${host} has a table plants of another program; name another database in the store URL`;
    throw new StoreOpenError("foreign", problem);
  }
  const [row] = await session.query(findVersion, [], timeoutMs);
  const version = Number(row?.[0]);
  if (version > migrations.length + newerMax) {
    const problem = `the database at ${host} has schema version ${version}, and this release knows ${migrations.length}; run the newer release`;
    throw new StoreOpenError("newer_schema", problem);
  }
  return version;
}

const findTables = `
  SELECT to_regclass('@schema@.plant_store_migrations') IS NOT NULL,
    to_regclass('@schema@.plants') IS NOT NULL`;

/** That of our tables, or else the one in which they would be created: not beside a hidden store. */
async function findSchema(session: Session, timeoutMs?: number): Promise<string> {
  const path = `the search_path of this user at ${describeHost(session.host)}`;
  const [[schema, isOther, other] = []] = await session.query(findBySearchPath, [], timeoutMs);
  if (isOther === true) {
    const problem = `${path} leads to the schema ${schema}, but there are plants in ${other}; name the right one first, move the table, or use another user for another store`;
    throw new StoreOpenError("foreign", problem);
  }
  if (typeof schema === "string") return schema;
  const problem = `${path} names no schema that it may use; create one, or grant USAGE on it`;
  throw new StoreOpenError("inaccessible", problem);
}

const schemaOf = (table: string) => `(
    SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = to_regclass('${table}'))`;

const findBySearchPath = `
  SELECT schema, schema <> other, other FROM (
    SELECT coalesce(ours, plants, quote_ident(current_schema())) AS schema, coalesce(plants, (
      SELECT min(relnamespace::regnamespace::text) FROM pg_class WHERE ours IS NULL
        AND relname = 'plant_store_migrations' AND has_table_privilege(oid, 'SELECT'))) AS other
    FROM (SELECT ${schemaOf("plant_store_migrations")} AS ours, ${schemaOf("plants")} AS plants) AS found
  ) AS schemas`;

const findVersion = "SELECT coalesce(max(version), 0) FROM @schema@.plant_store_migrations";

/** One transaction a migration. Safe if others do the same. @throws {StoreOpenError} */
export async function migrate(
  session: Session,
  { migrationTimeoutMs: timeoutMs }: PostgresLimits,
): Promise<void> {
  for (let races = 0; ; ) {
    try {
      if (!(await migrateOnce(session, timeoutMs))) return;
    } catch (error) {
      // If this fails, the connection is lost, and the transaction with it.
      await session.execute("ROLLBACK", timeoutMs).catch(() => {});
      const isRace = raceStates.has(sqlState(error) ?? "");
      if (!isRace || ++races > racesMax) throw error;
    }
  }
}

async function migrateOnce(session: Session, timeoutMs: number): Promise<boolean> {
  const begin = `BEGIN; SELECT set_config('statement_timeout', '${timeoutMs}', true)`;
  await session.execute(begin, timeoutMs);
  await session.query("SELECT pg_advisory_xact_lock($1)", [String(lockKey)], timeoutMs);
  const version = await readSchemaVersion(session, timeoutMs);
  const migration = migrations[version];
  if (migration !== undefined) {
    const url = new URL(`./migrations/${migration}`, import.meta.url);
    await session.execute(readFileSync(url, "utf8"), timeoutMs);
    await session.query(recordVersion, [String(version + 1)], timeoutMs);
  }
  await session.execute("COMMIT", timeoutMs);
  return migration !== undefined;
}

const recordVersion = "INSERT INTO @schema@.plant_store_migrations (version) VALUES ($1)";

/**
 * Rejects a table that would store a different plant, or none: `char(9)` pads, `varchar(9)` may
 * trim, and a crash empties an unlogged table or partition. Children by INHERITS may repeat ids.
 * @throws {StoreOpenError} `damaged`, `unsupported`, `not_durable`
 */
export async function assertTable(session: Session): Promise<void> {
  const rows = await session.query(findColumns, [Object.keys(columnTypes)]);
  const host = describeHost(session.host);
  if (rows.some(([, , , hasOthers]) => hasOthers === true)) {
    const problem = `plants at ${host} is a view, or has foreign partitions or children by INHERITS; make it a table, with partitions if you like`;
    throw new StoreOpenError("unsupported", problem);
  }
  for (const [name, type] of Object.entries(columnTypes)) {
    if (rows.some((row) => row[0] === name && row[1] === type)) continue;
    const problem = `the column ${name} of plants at ${host} is missing, has another type or no NOT NULL; change it back, or restore a backup`;
    throw new StoreOpenError("damaged", problem);
  }
  if (rows.some(([, , persistence]) => persistence !== "p")) {
    const problem = `the table plants at ${host} or a partition of it is unlogged or temporary, and a crash would empty it; run ALTER TABLE plants, or the partition, SET LOGGED`;
    throw new StoreOpenError("not_durable", problem);
  }
  session.hasTriggers = rows[0]?.[4] === true;
}

/** The fixed OIDs of the types bigint and text. */
const columnTypes: Readonly<Record<string, string>> = {
  id: "20",
  ...Object.fromEntries(textFields.map((field) => [field, "25"])),
};

/** Bits of tgtype. Statements that lock what they find run the UPDATE triggers for each statement. */
const triggersOn = { row: 1, insert: 4, update: 16 } as const;

/** NOT NULL, because a name is null if the settings of a commit have no effect. */
const findColumns = `
  WITH RECURSIVE tables (oid, parent) AS (
    SELECT '@schema@.plants'::regclass::oid, NULL::oid
    UNION ALL SELECT inhrelid, inhparent FROM pg_inherits JOIN tables ON inhparent = tables.oid
  )
  SELECT attname::text, atttypid::bigint::text, persistence, has_others, EXISTS (
    SELECT FROM pg_trigger JOIN tables ON tgrelid = tables.oid
    WHERE NOT tgisinternal AND tgenabled <> 'D' AND (tgtype & ${triggersOn.insert} <> 0
      OR tgtype & ${triggersOn.row | triggersOn.update} = ${triggersOn.update}))
  FROM pg_attribute, (
    SELECT string_agg(DISTINCT relpersistence::text, '') AS persistence,
      bool_or(relkind NOT IN ('r', 'p') OR parent IS NOT NULL AND NOT relispartition) AS has_others
    FROM tables JOIN pg_class USING (oid)
  ) AS all_tables
  WHERE attrelid = '@schema@.plants'::regclass AND (attnotnull OR attname <> 'name') AND attname = ANY ($1::text[])`;
