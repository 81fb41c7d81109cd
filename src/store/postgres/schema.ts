import { readFileSync } from "node:fs";
import { StoreOpenError } from "../open-error.ts";
import { describeHost } from "./address.ts";
import { sqlState } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/** In order; the schema version is how many of them were applied. */
export const migrations = ["0001_plants.sql"] as const;

/** "PLNT": the advisory lock of all who migrate this database. */
const lockKey = 0x50_4c_4e_54;

/**
 * What may happen where advisory locks do nothing, and another process migrates
 * as well: serialization_failure, unique_violation, duplicate_table. The other
 * one has won, or will.
 */
const raceStates: ReadonlySet<string> = new Set(["40001", "23505", "42P07"]);
const racesMax = 20;

/**
 * @returns How many migrations were applied.
 * @throws {StoreOpenError} `foreign`, `newer_schema`
 */
export async function readSchemaVersion(session: Session, timeoutMs: number): Promise<number> {
  const [found] = await session.query(findTables, [], timeoutMs);
  const [hasMigrations, hasPlants] = found ?? [];
  const host = describeHost(session.host);
  if (hasMigrations !== true) {
    if (hasPlants !== true) return 0;
    throw new StoreOpenError(
      "foreign",
      `the database at ${host} has a table plants of another program; name another database in the store URL`,
    );
  }
  const [row] = await session.query(findVersion, [], timeoutMs);
  const version = Number(row?.[0]);
  if (version > migrations.length) {
    throw new StoreOpenError(
      "newer_schema",
      `the database at ${host} has schema version ${version}, and this release knows ${migrations.length}; run the newer release`,
    );
  }
  return version;
}

const findTables =
  "SELECT to_regclass('plant_store_migrations') IS NOT NULL, to_regclass('plants') IS NOT NULL";

const findVersion = "SELECT coalesce(max(version), 0) FROM plant_store_migrations";

/**
 * Brings the schema up to date, one transaction a migration, whoever else does
 * the same at the same time.
 *
 * @throws {StoreOpenError} `foreign`, `newer_schema`
 */
export async function migrate(
  session: Session,
  { migrationTimeoutMs }: PostgresLimits,
): Promise<void> {
  const timeoutMs = migrationTimeoutMs;
  await session.query(
    "SELECT set_config('statement_timeout', $1, false)",
    [String(timeoutMs)],
    timeoutMs,
  );
  for (let races = 0; ; ) {
    try {
      if (!(await migrateOnce(session, timeoutMs))) return;
    } catch (error) {
      // Where this fails, the connection is lost, and with it the transaction.
      await session.execute("ROLLBACK", timeoutMs).catch(() => {});
      const isRace = raceStates.has(sqlState(error) ?? "");
      if (!isRace || ++races > racesMax) throw error;
    }
  }
}

/** @returns Whether there was a migration to apply. */
async function migrateOnce(session: Session, timeoutMs: number): Promise<boolean> {
  await session.execute("BEGIN", timeoutMs);
  await session.query("SELECT pg_advisory_xact_lock($1)", [String(lockKey)], timeoutMs);
  const version = await readSchemaVersion(session, timeoutMs);
  const migration = migrations[version];
  if (migration !== undefined) {
    const url = new URL(`./migrations/${migration}`, import.meta.url);
    await session.execute(readFileSync(url, "utf8"), timeoutMs);
    await session.query(
      "INSERT INTO plant_store_migrations (version) VALUES ($1)",
      [String(version + 1)],
      timeoutMs,
    );
  }
  await session.execute("COMMIT", timeoutMs);
  return migration !== undefined;
}

/**
 * Proves by the statements that the store rests on that the table is there, is
 * ours, may be written, and is kept by a crash.
 *
 * @throws {StoreOpenError} `not_durable`, or the server's error.
 */
export async function assertTable(session: Session, timeoutMs: number): Promise<void> {
  const [row] = await session.query(findPersistence, [], timeoutMs);
  if (row?.[0] === "p") return;
  throw new StoreOpenError(
    "not_durable",
    `the table plants at ${describeHost(session.host)} is unlogged or temporary: a crash would empty it; run ALTER TABLE plants SET LOGGED`,
  );
}

const findPersistence = "SELECT relpersistence::text FROM pg_class WHERE oid = 'plants'::regclass";
