import { resolve } from "node:path";
import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import type { Finding } from "../finding.ts";
import { StoreOpenError } from "../open-error.ts";
import { resolveLimits, type StoreOptions } from "../options.ts";
import type { PlantReader } from "../plant-reader.ts";
import type { SchemaState } from "../schema-state.ts";
import { type BackupOptions, backupDatabase } from "./backup.ts";
import { checkDatabase } from "./check.ts";
import { readSchemaVersion } from "./database.ts";
import { fileId } from "./files.ts";
import { SqliteReader } from "./reader.ts";
import { migrations } from "./schema.ts";
import { SqliteThread } from "./thread.ts";

/** How long to wait for another process's lock: longer than any of our own commits takes. */
const busyTimeoutMs = 5000;

/**
 * @param location A path, absolute or relative to the working directory.
 * @throws {StoreOpenError}
 */
export async function openSqlite(location: string, options: StoreOptions): Promise<PlantStore> {
  const path = parsePath(location);
  const thread = await SqliteThread.open({ path, busyTimeoutMs }, (error) =>
    options.onFailure?.(error),
  );
  return new BatchedStore(thread, resolveLimits(options.limits), options.observer);
}

/**
 * On the thread of the caller, unlike everything else: for a command that does nothing besides.
 *
 * @throws {StoreOpenError}
 */
export async function readSqliteSchema(location: string): Promise<SchemaState> {
  const version = readSchemaVersion(parsePath(location), busyTimeoutMs);
  return { version, latest: migrations.length };
}

/** @throws {StoreOpenError} */
export async function migrateSqlite(location: string): Promise<void> {
  await (await openSqlite(location, {})).close();
}

/** @throws {StoreOpenError} */
export async function openSqliteReader(location: string): Promise<PlantReader> {
  return SqliteReader.open(parsePath(location), busyTimeoutMs);
}

/** The URL as it was given: nothing in it is secret. */
export function describeSqlite(location: string): string {
  parsePath(location);
  return `sqlite:${location}`;
}

/**
 * @returns How many plants are in the backup.
 * @throws {StoreOpenError} {@link BackupError}
 */
export async function backupSqlite(location: string, options: BackupOptions): Promise<number> {
  return await backupDatabase(parsePath(location), busyTimeoutMs, options);
}

/** @throws {StoreOpenError} `invalid_url` */
export function checkSqlite(location: string): AsyncIterable<Finding> {
  return checkDatabase(parsePath(location), busyTimeoutMs);
}

/** The same for two paths to one file. */
export function identifySqlite(location: string): string {
  const path = parsePath(location);
  const file = fileId(path);
  return file === "none" ? path : file;
}

const misuses: readonly (readonly [isMisuse: (location: string) => boolean, advice: string])[] = [
  [(at) => at === "", "it names no file; write sqlite:./data/plants.db"],
  [
    (at) => at.startsWith("//"),
    "write sqlite:/absolute/path or sqlite:./relative/path, without //",
  ],
  [(at) => at === ":memory:", "a store in memory keeps nothing; name a file"],
  [(at) => at.startsWith("file:"), "write the path alone, without file:"],
  [(at) => /[?#]/.test(at), "it takes no settings, and the path may not contain ? or #"],
  [(at) => at.startsWith("~"), "~ has no meaning here; write the whole path"],
  [(at) => at.endsWith("/"), "it names a folder; name a file in it"],
  // The driver would trim it, and open another file than we prepared.
  [(at) => at !== at.trim(), "the path may not begin or end with white space"],
  [(at) => at.includes("\0"), "the path may not contain U+0000"],
];

function parsePath(location: string): string {
  for (const [isMisuse, advice] of misuses) {
    if (isMisuse(location)) {
      throw new StoreOpenError(
        "invalid_url",
        `cannot use the store URL sqlite:${location}: ${advice}`,
      );
    }
  }
  return resolve(location);
}
