import { createRequire } from "node:module";
import Database from "better-sqlite3";
import { StoreOpenError } from "../open-error.ts";

// Earlier drivers bundle an SQLite below the floor, or binaries for one Node only.
const driverMajor = 13;
// Earlier releases can lose a checkpoint when two connections race to reset the
// log (the "WAL-reset bug", sqlite.org/wal.html).
const sqliteMin = [3, 51, 3] as const;

/**
 * @returns The version of SQLite.
 * @throws {StoreOpenError} `unsupported`
 */
export function assertDriver(): string {
  const { version } = createRequire(import.meta.url)("better-sqlite3/package.json") as {
    version: string;
  };
  if (Number.parseInt(version, 10) !== driverMajor) {
    throw new StoreOpenError(
      "unsupported",
      `better-sqlite3 is ${version}, and ${driverMajor} is needed; run npm ci`,
    );
  }
  const sqlite = sqliteVersion();
  if (isBelow(sqlite, sqliteMin)) {
    throw new StoreOpenError(
      "unsupported",
      `SQLite is ${sqlite}, and ${sqliteMin.join(".")} or later is needed; run npm ci`,
    );
  }
  return sqlite;
}

/** The driver loads its native code when it opens its first database. */
function sqliteVersion(): string {
  try {
    const db = new Database(":memory:");
    try {
      return String(db.prepare("SELECT sqlite_version()").pluck().get());
    } finally {
      db.close();
    }
  } catch (cause) {
    throw new StoreOpenError(
      "unsupported",
      `the native part of better-sqlite3 does not load on Node ${process.version} for ${process.platform}-${process.arch}; run npm ci with that Node`,
      { cause },
    );
  }
}

/** Whether a version is earlier than the least one, part by part. */
export function isBelow(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, part] of least.entries()) {
    const difference = (parts[index] ?? 0) - part;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
