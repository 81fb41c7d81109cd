import { existsSync } from "node:fs";
import { textFields } from "../../plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../open-error.ts";
import { assertDriver, Database, inTransaction, readValue } from "./driver.ts";
import { failureCode, primaryCode } from "./failure.ts";
import { assertOurs, createFile, logPath, rewriteFile, syncDirectories } from "./files.ts";
import { assertKnown, migrate } from "./schema.ts";

/**
 * Opens the database for writing, and makes it where it is missing. When it
 * returns, all that it holds is on stable storage, and so is the path to it.
 *
 * @param path Absolute.
 * @param busyTimeoutMs How long to wait for other processes' locks, here and in
 * every later transaction.
 * @throws {StoreOpenError}
 */
export function openDatabase(path: string, busyTimeoutMs: number): Database {
  assertDriver();
  createFile(path);
  assertOurs(path);
  let db: Database | undefined;
  try {
    db = new Database(path, { timeout: busyTimeoutMs });
    // Before the first write, so that the making of the database is synced, too.
    configure(db);
    migrate(db);
    enterWal(db);
    assertDurable(db);
    settle(db, path, busyTimeoutMs);
    assertUsable(db);
    syncDirectories(path);
    return db;
  } catch (error) {
    db?.close();
    throw openError(path, error);
  }
}

/**
 * Reads how many migrations were applied to a database, and changes nothing.
 *
 * @param path Absolute.
 * @throws {StoreOpenError}
 */
export function readSchemaVersion(path: string, busyTimeoutMs: number): number {
  assertDriver();
  if (!existsSync(path)) return 0;
  assertOurs(path);
  let db: Database | undefined;
  try {
    db = new Database(path, { readOnly: true, timeout: busyTimeoutMs });
    const version = Number(readValue(db, "PRAGMA user_version"));
    assertKnown(path, version);
    return version;
  } catch (error) {
    throw openError(path, error);
  } finally {
    db?.close();
  }
}

/** What must be in force: SQLite has other defaults. */
const settings = {
  // FULL: in WAL, sync the log at every commit. NORMAL syncs at checkpoints only.
  synchronous: 2,
  // macOS: a sync reaches the medium, not only the drive's cache.
  fullfsync: 1,
  checkpoint_fullfsync: 1,
  // The writer checkpoints by itself: SQLite's own swallows the errors.
  wal_autocheckpoint: 0,
  // Gives the space back after a log that a long reader had let grow, in bytes.
  journal_size_limit: 64 * 1024 * 1024,
} as const;

/** @returns Those that SQLite does not follow here. */
export function configure(db: Database): readonly string[] {
  for (const [name, value] of Object.entries(settings)) db.exec(`PRAGMA ${name} = ${value}`);
  const isRefused = ([name, value]: [string, number]) => readValue(db, `PRAGMA ${name}`) !== value;
  return Object.entries(settings)
    .filter(isRefused)
    .map(([name, value]) => `${name}=${value}`);
}

function enterWal(db: Database): void {
  db.exec("PRAGMA journal_mode = WAL");
}

/**
 * Reads every setting back: SQLite ignores a pragma it cannot follow without a word.
 *
 * @throws {StoreOpenError} `not_durable`
 */
export function assertDurable(db: Database): void {
  for (const [name, wanted] of Object.entries({ ...settings, journal_mode: "wal" })) {
    const actual = readValue(db, `PRAGMA ${name}`);
    if (actual !== wanted) {
      throw new StoreOpenError(
        "not_durable",
        `${db.location()} cannot be kept safe: SQLite's ${name} is ${actual} instead of ${wanted}; use a local disk`,
      );
    }
  }
}

/**
 * Copies what a crash left in the log into the database and syncs both. Before
 * that, plants are visible that a killed process had written and not yet
 * synced; to confirm one of them again would be too early.
 *
 * The log is written anew first: if it is not on the disk as we see it, because
 * the syncs of the process before failed, a loss of power would bring an older
 * one back, to be laid over the newer database.
 *
 * @throws {StoreOpenError} `in_use`, `inaccessible`
 */
function settle(db: Database, path: string, busyTimeoutMs: number): void {
  // Immediate: nobody else appends to the log, or begins it anew, meanwhile.
  inTransaction(db, () => rewriteFile(logPath(path)));
  const deadline = Date.now() + busyTimeoutMs;
  while (checkpoint(db, "FULL").busy !== 0) {
    if (Date.now() >= deadline) {
      throw new StoreOpenError(
        "in_use",
        `${path} is held by another process that reads or writes it; end that one first`,
      );
    }
    pause(10);
  }
}

/**
 * So that a table that is missing or broken stops the start, not the first create, and
 * so does a file that the system refused to open for writing: SQLite then opens it for
 * reading alone, and even a transaction that is IMMEDIATE says nothing until a statement writes.
 */
function assertUsable(db: Database): void {
  db.exec(`SELECT id, ${textFields.join(", ")} FROM plants LIMIT 1`);
  db.exec("DELETE FROM plants WHERE false");
}

/** Result of SQLite's wal_checkpoint; the counts are frames, of one page each. */
export interface Checkpoint {
  /** 1 when another connection kept it from finishing. */
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** NOOP only tells the counts; PASSIVE never waits; FULL waits for the end of all writers and old readers. */
export function checkpoint(db: Database, mode: "NOOP" | "PASSIVE" | "FULL"): Checkpoint {
  return db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as Checkpoint;
}

/** Blocks the thread. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** SQLite's primary result codes, to ours. */
const openErrors: Readonly<Record<string, readonly [StoreOpenErrorCode, string]>> = {
  SQLITE_AUTH: ["inaccessible", "permission denied; give this user the right to write it"],
  SQLITE_BUSY: ["in_use", "another process keeps it locked; end that one first"],
  SQLITE_CANTOPEN: ["inaccessible", "SQLite cannot open it; check the rights on it and its folder"],
  SQLITE_CORRUPT: ["damaged", "the database is damaged; restore it from a backup"],
  SQLITE_FULL: ["inaccessible", "no space left on the disk; free some"],
  SQLITE_IOERR: ["inaccessible", "the disk reported an error; check it"],
  SQLITE_NOTADB: ["foreign", "it is not an SQLite database; name another file in the store URL"],
  SQLITE_PERM: ["inaccessible", "permission denied; give this user the right to write it"],
  SQLITE_READONLY: ["inaccessible", "it is read-only; give this user the right to write it"],
};

/** What kept a database from being opened, as an operator can mend it. */
export function openError(path: string, error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error;
  const code = failureCode(error);
  const [openCode, advice] = openErrors[primaryCode(code)] ?? [
    "damaged",
    "the database is not as this release left it; restore it from a backup",
  ];
  return new StoreOpenError(openCode, `cannot open ${path}: ${advice} (${code})`, { cause: error });
}
