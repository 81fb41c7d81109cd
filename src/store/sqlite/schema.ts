import { readFileSync } from "node:fs";
import { textFields } from "../../plant.ts";
import { StoreOpenError } from "../open-error.ts";
import { type Database, inTransaction, readValue, sqliteError } from "./driver.ts";

/** "PLNT": marks our databases in SQLite's application_id. */
export const applicationId = 0x50_4c_4e_54;

/** In order. The schema version (SQLite's user_version) is the number of applied migrations. */
export const migrations = ["0001_plants.sql"] as const;

/**
 * One transaction a migration. The first marks the database as ours, so a crash leaves an empty
 * file or a complete database. @throws {StoreOpenError}
 */
export function migrate(db: Database): void {
  // IMMEDIATE: of two processes, the second one waits and finds the migration done.
  while (inTransaction(db, () => migrateOnce(db)));
}

function migrateOnce(db: Database): boolean {
  if (!isOurs(db)) {
    const problem = `${db.location()} is the database of another program; name another file in the store URL`;
    throw new StoreOpenError("foreign", problem);
  }
  const version = readVersion(db);
  const migration = migrations[version];
  if (migration === undefined) return false;
  db.exec(readFileSync(new URL(`./migrations/${migration}`, import.meta.url), "utf8"));
  db.exec(`PRAGMA application_id = ${applicationId}`);
  db.exec(`PRAGMA user_version = ${version + 1}`);
  return true;
}

/** @throws {StoreOpenError} `foreign`, also if empty; `newer_schema`, `damaged` */
export function assertPlantStore(db: Database): number {
  if (readValue(db, "PRAGMA application_id") !== applicationId) {
    throw new StoreOpenError("foreign", `${db.location()} is not the database of a plant store`);
  }
  const version = readVersion(db);
  if (version === migrations.length) assertTable(db);
  return version;
}

/**
 * Rejects a table that would store a different plant, or two with the same id: SQLite converts
 * values to the type of their column, and U+FFFF to U+FFFD in UTF-16. @throws {StoreOpenError} `damaged`
 */
export function assertTable(db: Database): void {
  const columns = db.prepare("PRAGMA table_info(plants)").all();
  const key = columns.filter(({ pk }) => pk !== 0).map(({ name }) => name);
  const found = [...columns.map(({ name, type }) => `${name} ${type}`), `PRIMARY KEY (${key})`];
  found.push(`text in ${readValue(db, "PRAGMA encoding")}`);
  const texts = textFields.map((field) => `${field} TEXT`);
  const wanted = ["id INTEGER", ...texts, "PRIMARY KEY (id)", "text in UTF-8"];
  const missing = wanted.find((part) => !found.includes(part));
  if (missing === undefined) return;
  const problem = `${db.location()} was changed: the table plants has no ${missing}; change it back, or restore a backup`;
  throw new StoreOpenError("damaged", problem, { cause: sqliteError(problem, 1) });
}

export function readVersion(db: Database): number {
  const version = Number(readValue(db, "PRAGMA user_version"));
  if (version >= 0 && version <= migrations.length) return version;
  const advice = version < 0 ? "restore a backup" : "run the newer release";
  const problem = `${db.location()} has schema version ${version}, and this release knows ${migrations.length}; ${advice}`;
  throw new StoreOpenError("newer_schema", problem);
}

function isOurs(db: Database): boolean {
  const id = readValue(db, "PRAGMA application_id");
  if (id === applicationId) return true;
  return id === 0 && readValue(db, "SELECT 1 FROM sqlite_schema") === undefined;
}
