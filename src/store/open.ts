import type { PlantStore } from "../plant.ts";
import type { Finding, SchemaState, StoreOptions } from "./options.ts";
import type { PlantReader } from "./plant-reader.ts";
import { describeAddress, type PostgresAddress } from "./postgres/address.ts";
import { fileId } from "./sqlite/files.ts";
import { openSqlite } from "./sqlite/thread.ts";

export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation {
  readonly engine: "sqlite";
  /** Absolute. */
  readonly path: string;
  /** The path as an operator wrote it, for messages. */
  readonly name: string;
}

/** The database must exist; its tables are created. */
export interface PostgresLocation extends PostgresAddress {
  readonly engine: "postgres";
}

// Loaded on first use. The SQLite thread starts while the caller loads other code.
const sqlite = () => import("./sqlite/direct.ts");
const postgres = () => import("./postgres/open.ts");

/** Opens a store, and migrates it if necessary. A missing SQLite database is created. @throws {StoreOpenError} */
export async function openStore(
  at: StoreLocation,
  options: StoreOptions = {},
): Promise<PlantStore> {
  if (at.engine === "sqlite") return await openSqlite(at.path, options);
  return await (await postgres()).openPostgres(at, options);
}

/** Reads a snapshot. Creates and migrates nothing. @throws {StoreOpenError} */
export async function openPlantReader(at: StoreLocation): Promise<PlantReader> {
  if (at.engine === "sqlite") return (await sqlite()).openSqliteReader(at.path);
  return await (await postgres()).openPostgresReader(at);
}

/** Reads the schema version of a database. Changes nothing. @throws {StoreOpenError} */
export async function readSchemaState(at: StoreLocation): Promise<SchemaState> {
  if (at.engine === "sqlite") return (await sqlite()).readSchemaState(at.path);
  return await (await postgres()).readPostgresSchema(at);
}

/** Migrates the schema of a database to the latest version, as opening does. @throws {StoreOpenError} */
export async function migrateStore(at: StoreLocation): Promise<void> {
  if (at.engine === "sqlite") return (await sqlite()).migrateDatabase(at.path);
  await (await postgres()).migratePostgres(at);
}

/** Checks a store without changing a plant. Yields each finding as soon as it is known. Never throws. */
export async function* checkStore(at: StoreLocation): AsyncGenerator<Finding, void> {
  if (at.engine === "sqlite") yield* (await sqlite()).checkDatabase(at.path);
  else yield* (await postgres()).checkPostgres(at);
}

export function isSameStore(one: StoreLocation, other: StoreLocation): boolean {
  return identify(one) === identify(other);
}

function identify(at: StoreLocation): string {
  return at.engine === "sqlite" ? (fileId(at.path) ?? at.path) : describeStore(at);
}

/** The URL of a store without secrets, for messages and logs. */
export function describeStore(at: StoreLocation): string {
  return at.engine === "sqlite" ? `sqlite:${at.name}` : describeAddress(at);
}
