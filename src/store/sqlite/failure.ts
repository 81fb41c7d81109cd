import { StoreOpenError } from "../open-error.ts";
import type { Failure } from "./messages.ts";

/** The disk is full, or seems so. */
const full: ReadonlySet<string> = new Set([
  "SQLITE_FULL",
  // There was no room for the wal-index. That is a cache, which SQLite can rebuild at any time.
  "SQLITE_IOERR_SHMSIZE",
  // A checkpoint could not truncate the database, for which some file systems need space. SQLite
  // does not tell that from other errors. The log still holds everything.
  "SQLITE_IOERR_TRUNCATE",
  // A file could not be created, for which some file systems need space (XFS).
  "SQLITE_CANTOPEN",
]);

/**
 * After these, a rollback restores the previous state, and the next transaction may succeed. Every
 * other code ends the store, mainly failed syncs: the kernel may drop pages that it could not write
 * and report the next sync as a success, so a retry would confirm what is not on the disk.
 */
const passing: ReadonlySet<string> = new Set([
  ...full,
  "SQLITE_BUSY",
  "SQLITE_BUSY_RECOVERY",
  "SQLITE_BUSY_SNAPSHOT",
  "SQLITE_BUSY_TIMEOUT",
  // The statement could not be run: a table is missing, for example.
  "SQLITE_ERROR",
  "SQLITE_IOERR_NOMEM",
  "SQLITE_NOMEM",
]);

const ofRow = new Set(["SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_TOOBIG"]);

export function isFull(code: string): boolean {
  return full.has(code);
}

export function isPassing(code: string): boolean {
  return passing.has(code) || isOfRow(code);
}

/** Whether a row was rejected: by a constraint or a trigger, or because it is too large. */
export function isOfRow(code: string): boolean {
  return ofRow.has(primaryCode(code));
}

/** The primary code of an extended one, by name: `SQLITE_BUSY` for `SQLITE_BUSY_SNAPSHOT`. */
export function primaryCode(code: string): string {
  return code.split("_", 2).join("_");
}

/** The name of SQLite's extended code (`SQLITE_IOERR_FSYNC`), or the class of any other error. */
export function failureCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  if (error instanceof StoreOpenError && error.cause !== undefined) return failureCode(error.cause);
  if ("errcode" in error && typeof error.errcode === "number") return resultCodeName(error.errcode);
  return (error as NodeJS.ErrnoException).code === "ENOSPC" ? "SQLITE_FULL" : error.name;
}

export function describe(error: unknown): Failure {
  const cause = error instanceof StoreOpenError ? (error.cause ?? error) : error;
  return { code: failureCode(error), message: (cause as Error).message };
}

/** SQLite's primary result codes, from 1 on (https://sqlite.org/rescode.html). */
const primaries =
  "ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB";

/** The suffixes of the extended codes of a primary one, from 1 on. */
const extensions: Readonly<Record<string, string>> = {
  BUSY: "RECOVERY SNAPSHOT TIMEOUT",
  CANTOPEN: "NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK",
  CONSTRAINT:
    "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE",
  CORRUPT: "VTAB SEQUENCE INDEX",
  IOERR:
    "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE",
  READONLY: "RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY",
};

/** SQLite's name of an extended code, such as `SQLITE_IOERR_FSYNC` for 1034. */
function resultCodeName(code: number): string {
  const primary = primaries.split(" ")[(code & 0xff) - 1];
  const extension = code >> 8;
  if (primary === undefined) return `SQLITE_${code}`;
  if (extension === 0) return `SQLITE_${primary}`;
  return `SQLITE_${primary}_${extensions[primary]?.split(" ")[extension - 1] ?? extension}`;
}
