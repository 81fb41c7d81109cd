import { readFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { StoreOpenError } from "../open-error.ts";

/** "PLNT": marks our databases, in SQLite's application_id. */
export const applicationId = 0x50_4c_4e_54;

/** In order; the schema version (SQLite's user_version) is how many of them were applied. */
export const migrations = ["0001_plants.sql"] as const;

/**
 * Brings the schema up to date, one transaction a migration. The first makes
 * the database ours in the same transaction, so that a crash leaves either an
 * empty file or a complete database, never something unrecognisable.
 *
 * @throws {StoreOpenError} `foreign`, `newer_schema`
 */
export function migrate(db: Database.Database): void {
  // Immediate: of two processes that open a new file, the second waits and then
  // finds the migration done.
  while (db.transaction(migrateOnce).immediate(db));
}

/** @returns Whether there was a migration to apply. */
function migrateOnce(db: Database.Database): boolean {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (!isOurs(db)) {
    throw new StoreOpenError(
      "foreign",
      `${db.name} is the database of another program; name another file in the store URL`,
    );
  }
  assertKnown(db.name, version);
  const migration = migrations[version];
  if (migration === undefined) return false;
  db.exec(readFileSync(new URL(`./migrations/${migration}`, import.meta.url), "utf8"));
  db.pragma(`application_id = ${applicationId}`);
  db.pragma(`user_version = ${version + 1}`);
  return true;
}

/** @throws {StoreOpenError} `foreign`, of an empty database too */
export function assertPlantStore(db: Database.Database): void {
  if (db.pragma("application_id", { simple: true }) === applicationId) return;
  throw new StoreOpenError("foreign", `${db.name} is not the database of a plant store`);
}

/** @throws {StoreOpenError} `newer_schema` */
export function assertKnown(name: string, version: number): void {
  if (version <= migrations.length) return;
  throw new StoreOpenError(
    "newer_schema",
    `${name} has schema version ${version}, and this release knows ${migrations.length}; run the newer release`,
  );
}

function isOurs(db: Database.Database): boolean {
  const id = db.pragma("application_id", { simple: true });
  if (id === applicationId) return true;
  return id === 0 && db.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
}
