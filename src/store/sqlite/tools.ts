/** Runs on the caller's thread, for commands that do nothing else. */
import type { Finding } from "../finding.ts";
import type { PlantReader } from "../plant-reader.ts";
import type { SchemaState } from "../schema-state.ts";
import { type BackupOptions, backupDatabase } from "./backup.ts";
import { checkDatabase } from "./check.ts";
import { readSchemaVersion } from "./database.ts";
import { busyTimeoutMs, parsePath } from "./location.ts";
import { SqliteReader } from "./reader.ts";
import { migrations } from "./schema.ts";

/** @throws {StoreOpenError} */
export async function readSqliteSchema(location: string): Promise<SchemaState> {
  const version = readSchemaVersion(parsePath(location), busyTimeoutMs);
  return { version, latest: migrations.length };
}

/** @throws {StoreOpenError} */
export async function openSqliteReader(location: string): Promise<PlantReader> {
  return SqliteReader.open(parsePath(location), busyTimeoutMs);
}

/**
 * @returns The number of plants in the backup.
 * @throws {StoreOpenError} {@link BackupError}
 */
export async function backupSqlite(location: string, options: BackupOptions): Promise<number> {
  return await backupDatabase(parsePath(location), busyTimeoutMs, options);
}

/** @throws {StoreOpenError} `invalid_url` */
export function checkSqlite(location: string): AsyncIterable<Finding> {
  return checkDatabase(parsePath(location), busyTimeoutMs);
}
