import { textFields } from "../../plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../open-error.ts";
import type { SchemaState } from "../options.ts";
import { assertDriver, type Database, inTransaction, openFile, readValue } from "./driver.ts";
import { failureCode, isFull, primaryCode } from "./failure.ts";
import {
  assertFile,
  assertNoLostLog,
  assertOurs,
  busyTimeoutMs,
  createDatabaseFile,
  fileId,
  inaccessible,
  isWhole,
  logPath,
  rewriteFile,
  syncDirectories,
} from "./files.ts";
import { assertTable, migrate, migrations, readVersion } from "./schema.ts";

/**
 * Opens the database for writing, and creates it if it is missing. When it returns, everything in
 * it is on stable storage, and so is the path to it.
 * @param path Absolute.
 * @param timeoutMs How long to wait for locks of other processes, here and in every transaction.
 * @throws {StoreOpenError}
 */
export function openDatabase(path: string, timeoutMs: number): Database {
  assertDriver();
  createDatabaseFile(path);
  assertOurs(path);
  let db: Database | undefined;
  try {
    db = openFile(path, { timeout: timeoutMs });
    // Before the first write, so that creating the database is synced, too.
    configure(db);
    migrate(db);
    db.exec("PRAGMA journal_mode = WAL");
    assertDurable(db);
    settle(db, path);
    assertUsable(db);
    syncDirectories(path);
    return db;
  } catch (error) {
    db?.close();
    throw openError(path, error);
  }
}

export function assertExists(path: string): void {
  assertNoLostLog(path);
  if (fileId(path) !== undefined) assertFile(path);
  else
    throw new StoreOpenError("inaccessible", `there is no store at ${path}; check the store URL`);
}

export function openForReading(path: string, isOpenHere = false): Database {
  assertExists(path);
  if (!isOpenHere) assertOurs(path, "r");
  return openFile(path, { readOnly: true, timeout: busyTimeoutMs }, isWhole(path));
}

/** Reads the schema version. Changes nothing. @param path Absolute. @throws {StoreOpenError} */
export function readSchemaState(path: string): SchemaState {
  const latest = migrations.length;
  assertNoLostLog(path);
  if (fileId(path) === undefined) return { version: 0, latest };
  try {
    using db = openForReading(path);
    return { version: readVersion(db), latest };
  } catch (error) {
    throw openError(path, error);
  }
}

/** Required settings that differ from SQLite's defaults. */
const settings = {
  // FULL: in WAL mode, sync the log at every commit. NORMAL syncs at checkpoints only.
  synchronous: 2,
  // macOS: sync to the medium, not only to the drive's cache.
  fullfsync: 1,
  checkpoint_fullfsync: 1,
  // The writer runs checkpoints itself: SQLite's automatic ones swallow errors.
  wal_autocheckpoint: 0,
  // In bytes. Truncates the log after a long reader let it grow.
  journal_size_limit: 64 * 1024 * 1024,
} as const;

export function configure(db: Database): void {
  for (const [name, value] of Object.entries(settings)) db.exec(`PRAGMA ${name} = ${value}`);
}

/** SQLite silently ignores a pragma that it cannot apply. @throws {StoreOpenError} `not_durable` */
export function assertDurable(db: Database, journalMode: unknown = "wal"): void {
  for (const [name, wanted] of Object.entries({ ...settings, journal_mode: journalMode })) {
    const actual = readValue(db, `PRAGMA ${name}`);
    if (actual !== wanted) {
      const advice = name === "journal_mode" ? "a local disk" : "another build of Node";
      const problem = `${db.location()} is not durable: SQLite's ${name} is ${actual} instead of ${wanted}; use ${advice}`;
      throw new StoreOpenError("not_durable", problem);
    }
  }
}

/**
 * Makes all that can be read safe: a killed process may have written plants that it did not sync,
 * and confirming one of them would be too early. The log is rewritten: if syncs of the earlier
 * process failed, the log on the disk may differ from the one we see, and a power failure would
 * restore it. It is not copied to the database here: a program that replicates it has perhaps not
 * read it yet.
 * @throws {StoreOpenError} `inaccessible`
 */
function settle(db: Database, path: string): void {
  // IMMEDIATE: nobody else appends to the log or restarts it in the meantime.
  inTransaction(db, () => rewriteFile(logPath(path)));
}

/**
 * Makes a missing, changed or broken table, or a trigger that cannot run, fail at startup, not at
 * the first create. So does a file that may not be written: SQLite opens it read-only, and even an
 * IMMEDIATE transaction succeeds until a statement writes.
 */
export function assertUsable(db: Database): void {
  assertTable(db);
  const columns = ["id", ...textFields].join(", ");
  db.exec(`SELECT ${columns} FROM plants LIMIT 1`);
  db.exec(`
    INSERT INTO plants (${columns}) SELECT ${columns} FROM plants WHERE false
    ON CONFLICT (id) DO NOTHING`);
}

/** Counts frames, of one page each. NOOP does no more. PASSIVE leaves what a reader may still need. */
export function checkpoint(db: Database, mode: "NOOP" | "PASSIVE") {
  const counts: unknown = db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return counts as Record<"log" | "checkpointed", number>;
}

/** Our codes, by SQLite's primary result codes. */
const openErrors: Readonly<Record<string, readonly [StoreOpenErrorCode, string]>> = {
  SQLITE_BUSY: ["in_use", "another process keeps it locked; end that one first"],
  SQLITE_CANTOPEN: [
    "inaccessible",
    "check the rights on it, its -wal and -shm, and its folder, and the space on the disk",
  ],
  SQLITE_CORRUPT: ["damaged", "the database is damaged; restore it from a backup"],
  SQLITE_FULL: ["inaccessible", "no space left on the disk; free some"],
  SQLITE_IOERR: ["inaccessible", "the disk reported an error, or a quota is used up; check both"],
  SQLITE_IOERR_SHMMAP: ["inaccessible", "its file system cannot map files; use a local disk"],
  SQLITE_NOTADB: ["foreign", "it is not an SQLite database; name another file in the store URL"],
  SQLITE_PERM: ["inaccessible", "permission denied; give this user the right to write it"],
  SQLITE_READONLY: ["inaccessible", "it or its folder is read-only; give this user write access"],
  SQLITE_READONLY_ROLLBACK: ["damaged", "if its -journal is its own, let a server roll it back"],
};

export function openError(path: string, error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  const { syscall, path: file = path } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return inaccessible(file, error);
  const code = failureCode(error);
  const [openCode, advice] = openErrors[code] ??
    openErrors[isFull(code) ? "SQLITE_FULL" : primaryCode(code)] ?? [
      "damaged",
      "the database is not as this release left it; restore it from a backup",
    ];
  return new StoreOpenError(openCode, `cannot open ${path}: ${advice} (${code})`, { cause: error });
}
