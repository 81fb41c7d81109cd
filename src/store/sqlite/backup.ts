import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { BackupError } from "../backup-error.ts";
import { StoreOpenError } from "../open-error.ts";
import { openError } from "./database.ts";
import { assertDriver, backup, Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { fileId, syncDirectory } from "./files.ts";
import { assertPlantStore } from "./schema.ts";

export interface BackupOptions {
  /** Absolute. */
  readonly file: string;
  /** Whether to replace an existing file. */
  readonly force: boolean;
  /** Stops the backup between two steps of the copy. */
  readonly signal: AbortSignal;
  /** Called between two steps of the copy; counts pages of the database. */
  readonly onProgress: (done: number, total: number) => void;
  /**
   * Called for each directory beside the file that another, unfinished backup to this file has
   * left.
   */
  readonly onUnfinished: (folder: string) => void;
}

/** About 8 MiB, so that an abort takes effect within tens of milliseconds. */
const pagesEach = 2000;

/**
 * Copies the current state of a database while servers are using it, and verifies the copy. The
 * pages are copied in a single read transaction. No writer waits for it, and it waits for none. But
 * the log grows until the end, because no checkpoint may overwrite pages that are still to be read.
 * So the fastest copy is the best one: VACUUM INTO rebuilds the database and would hold its
 * snapshot longer. (Without the transaction, SQLite would start over after each commit of a
 * server.)
 *
 * The copy is one file without a log, and can be read from read-only media.
 *
 * @param path Absolute.
 * @returns The number of plants in the copy.
 * @throws {StoreOpenError} {@link BackupError}
 */
export async function backupDatabase(
  path: string,
  busyTimeoutMs: number,
  options: BackupOptions,
): Promise<number> {
  assertDriver();
  if (!existsSync(path)) {
    throw new StoreOpenError("inaccessible", `there is no store at ${path}; check the store URL`);
  }
  assertTarget(path, options);
  const { file } = options;
  let folder: string | undefined;
  try {
    tellUnfinished(options);
    // A new, private directory: whatever SQLite puts beside the copy, it holds only our files.
    folder = mkdtempSync(unfinishedPrefix(file));
    // A short name, because SQLite opens no path of more than 512 bytes.
    const temporary = join(folder, "copy");
    // SQLite uses an existing file, so the file has our mode from the first byte.
    closeSync(openSync(temporary, "wx", 0o600));
    const count = await copy(path, temporary, busyTimeoutMs, options);
    verify(temporary, count);
    chmodSync(temporary, statSync(path).mode & 0o777);
    publish(temporary, options);
    return count;
  } catch (error) {
    if (error instanceof BackupError || error instanceof StoreOpenError) throw error;
    const reason = error instanceof Error && "code" in error ? error.code : error;
    throw new BackupError(`cannot write the backup to ${file} (${reason})`, { cause: error });
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The prefix to which mkdtemp adds six characters. */
function unfinishedPrefix(file: string): string {
  return join(dirname(file), `.${basename(file)}.part-`);
}

/** It is unknown whether another process is still writing it. The caller has to decide. */
function tellUnfinished({ file, onUnfinished }: BackupOptions): void {
  const prefix = basename(unfinishedPrefix(file));
  for (const name of namesIn(dirname(file))) {
    if (name.startsWith(prefix)) onUnfinished(join(dirname(file), name));
  }
}

/** Empty for a directory that may not be listed: creating files in it may still be allowed. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EACCES") return [];
    throw error;
  }
}

/** @throws {BackupError} */
function assertTarget(path: string, { file, force }: BackupOptions): void {
  for (const own of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    if (own === file || (existsSync(file) && fileId(own) === fileId(file))) {
      throw new BackupError(`${file} belongs to the store itself; name another file`);
    }
  }
  const old = statSync(file, { throwIfNoEntry: false });
  if (old === undefined) return;
  if (!old.isFile()) throw new BackupError(`${file} is not a file; name one`);
  if (!force) throw alreadyThere(file);
}

function alreadyThere(file: string): BackupError {
  return new BackupError(`${file} is there already; name another file, or replace it with --force`);
}

async function copy(
  path: string,
  temporary: string,
  busyTimeoutMs: number,
  { signal, onProgress }: BackupOptions,
): Promise<number> {
  let db: Database | undefined;
  try {
    db = new Database(path, { readOnly: true, timeout: busyTimeoutMs });
    assertPlantStore(db);
    db.exec("BEGIN");
    const count = Number(readValue(db, "SELECT count(*) FROM plants"));
    const assertWanted = () => {
      if (signal.aborted) throw new BackupError("interrupted");
    };
    await backup(db, temporary, {
      rate: pagesEach,
      progress({ totalPages, remainingPages }) {
        assertWanted();
        onProgress(totalPages - remainingPages, totalPages);
      },
    });
    assertWanted();
    return count;
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw openError(path, error);
  } finally {
    db?.close();
  }
}

/** @throws {BackupError} */
function verify(temporary: string, count: number): void {
  const db = new Database(temporary);
  try {
    db.exec("PRAGMA journal_mode = DELETE");
    const fault = readValue(db, "PRAGMA integrity_check(1)");
    const found = Number(readValue(db, "SELECT count(*) FROM plants"));
    if (fault === "ok" && found === count) return;
    throw new BackupError(
      `the store is damaged, and so is its copy, which was not kept: ${fault}; run plant-store check`,
    );
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError(
      `the copy could not be verified, and was not kept (${failureCode(error)})`,
      { cause: error },
    );
  } finally {
    db.close();
  }
}

/** Moves the copy to its place and makes it durable. */
function publish(temporary: string, { file, force }: BackupOptions): void {
  const descriptor = openSync(temporary, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  if (force) renameSync(temporary, file);
  else linkNew(temporary, file);
  if (process.platform !== "win32") syncDirectory(dirname(file));
}

/** Unlike a rename, a link never replaces a file that was created in the meantime. */
function linkNew(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") throw alreadyThere(file);
    // Some file systems have no links.
    if (existsSync(file)) throw alreadyThere(file);
    renameSync(temporary, file);
  }
}
