import { resultCodeName } from "./result-code.ts";

/**
 * After these a rollback leaves everything as it was, and the next transaction
 * may succeed. Every other code ends the store: above all a failed sync, after
 * which the kernel may drop the pages it could not write and report the next
 * sync as a success, so that a second try would confirm what is not on the disk.
 */
const passing: ReadonlySet<string> = new Set([
  "SQLITE_BUSY",
  "SQLITE_BUSY_RECOVERY",
  "SQLITE_BUSY_SNAPSHOT",
  "SQLITE_BUSY_TIMEOUT",
  "SQLITE_FULL",
  // The wal-index, a cache that is rebuilt at will, found no room on a full disk.
  "SQLITE_IOERR_SHMSIZE",
  "SQLITE_IOERR_NOMEM",
  // A checkpoint could not cut the database to its length, for which some file systems need
  // room; SQLite does not tell that from other errors. The log still holds all of it.
  "SQLITE_IOERR_TRUNCATE",
  "SQLITE_NOMEM",
]);

/** Whether the store may go on after a failure with this code. */
export function isPassing(code: string): boolean {
  return passing.has(code);
}

/** Of an extended code by name: `SQLITE_BUSY` of `SQLITE_BUSY_SNAPSHOT`. */
export function primaryCode(code: string): string {
  return code.split("_", 2).join("_");
}

/** SQLite's extended code by name (`SQLITE_IOERR_FSYNC`), or the class of any other error. */
export function failureCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "errcode" in error && typeof error.errcode === "number"
    ? resultCodeName(error.errcode)
    : error.name;
}
