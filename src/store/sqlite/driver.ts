import { readFileSync, realpathSync, statfsSync, statSync } from "node:fs";
import type { DatabaseSync, DatabaseSyncOptions, SQLOutputValue } from "node:sqlite";
import { StoreOpenError } from "../open-error.ts";

export const { DatabaseSync: Database, backup } = loadDriver();
export type Database = DatabaseSync;

/** Node 22 warns on standard error that its SQLite is experimental; Node 24.15 no longer does. */
function loadDriver(): typeof import("node:sqlite") {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

// Earlier releases can lose a checkpoint if two connections race to reset the log (the "WAL-reset
// bug", sqlite.org/wal.html). Node 22.23, 24.15, 26 and later bundle a fixed one, unless built
// against the system's.
const sqliteMin = "3.51.3";

/** @returns The version of SQLite. @throws {StoreOpenError} `unsupported` */
export function assertDriver(): string {
  using db = new Database(":memory:");
  const version = String(readValue(db, "SELECT sqlite_version()"));
  if (isBelow(version, sqliteMin)) {
    const problem = `Node ${process.versions.node} has SQLite ${version}, and ${sqliteMin} or later is needed; use Node 22.23, 24.15, 26 or later`;
    throw new StoreOpenError("unsupported", problem);
  }
  return version;
}

export function isBelow(version: string, least: string): boolean {
  return version.localeCompare(least, undefined, { numeric: true }) < 0;
}

/**
 * Opens a file that exists. SQLite names the log and the locks after the path: by another name, it
 * misses both, and overwrites confirmed plants. @throws {StoreOpenError} `inaccessible`
 */
export function openFile(path: string, options: DatabaseSyncOptions, isWhole = false): Database {
  if (!isWhole && statSync(path).nlink > 1) {
    const problem = `${path} has a second name (a hard link), under which SQLite would miss its log and lose plants; look for it with find -samefile, and keep the name that the server uses`;
    throw new StoreOpenError("inaccessible", problem);
  }
  if (isMountPoint(realpathSync(path))) {
    const problem = `${path} is a mount of one file, so SQLite would miss its log and lose plants; mount its folder instead, but see docs/sqlite.md first if there is a -wal beside the mount`;
    throw new StoreOpenError("inaccessible", problem);
  }
  assertRoom(path);
  return new Database(path, options);
}

/** As of a container with a volume for the file alone. On Linux only (proc_pid_mountinfo(5)). */
function isMountPoint(path: string): boolean {
  const fromOctal = (_: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 8));
  const pathOf = (mount: string) => mount.split(" ")[4]?.replaceAll(/\\(\d{3})/g, fromOctal);
  const mounts = readProc("self/mountinfo").split("\n");
  return mounts.some((mount) => pathOf(mount) === path);
}

/** Empty if it cannot be read: its process may have ended, and a sandbox may hide it. */
export function readProc(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** @returns The first column of the first row; undefined if there is no row. */
export function readValue(db: Database, sql: string): SQLOutputValue | undefined {
  return Object.values(db.prepare(sql).get() ?? {})[0];
}

/** A transaction that may write. @throws Its error or the commit's, after a rollback. */
export function inTransaction<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // Some failures roll back by themselves.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export const pageBytes = 4096;

/** What the index of a long log needs, and what other programs may write meanwhile. */
const bytesMin = 1024 * 1024;

/** An error of our own, with a code of SQLite. */
export function sqliteError(message: string, errcode: number): Error {
  return Object.assign(new Error(message), { errcode });
}

/**
 * Before SQLite writes: it writes its wal-index through a memory map, for which the kernel ends the
 * process (SIGBUS) on a full disk with smaller blocks. @throws An error with the code SQLITE_FULL.
 */
export function assertRoom(path: string, pages = 0): void {
  if (statfsSync(path).bsize >= pageBytes || hasRoom(path, pages)) return;
  throw sqliteError("the disk is almost full", 13);
}

/** Whether some space is left for the index, and for these pages. */
export function hasRoom(path: string, pages = 0): boolean {
  const { bsize, bavail } = statfsSync(path);
  return bavail * bsize >= bytesMin + pages * pageBytes;
}
