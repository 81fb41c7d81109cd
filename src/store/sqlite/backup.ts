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
  /** Whether a file that is there is replaced. */
  readonly force: boolean;
  /** Ends it between two steps of the copy. */
  readonly signal: AbortSignal;
  /** Called between two steps of the copy, in pages of the database. */
  readonly onProgress: (done: number, total: number) => void;
  /** Told of each folder beside the file that holds what another backup to it has not finished. */
  readonly onUnfinished: (folder: string) => void;
}

/** Some 8 MiB: a signal is obeyed within tens of milliseconds. */
const pagesEach = 2000;

/**
 * Copies a database as it is now, while servers go on with it, and verifies the
 * copy. Pages are copied as they are, in one read transaction from the first to
 * the last: a writer is never waited for, nor made to wait, but its log grows
 * until the end, as no checkpoint may overwrite what is still to be read. So
 * the quickest way is the best: VACUUM INTO holds its snapshot longer, for it
 * builds the database anew. (Without the transaction, SQLite would begin anew
 * after each commit of a server.)
 *
 * The copy is one file, without a log, that may be read from where nobody can write.
 *
 * @param path Absolute.
 * @returns How many plants are in it.
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
    // New, and for us alone: nothing that is not ours can be in it, whatever SQLite puts beside the copy.
    folder = mkdtempSync(unfinishedPrefix(file));
    // The name is not there a second time: SQLite opens no path of more than 512 bytes.
    const temporary = join(folder, "copy");
    // SQLite opens a file that is there, so that its mode is ours from the first byte.
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

/** What mkdtemp adds six letters to. */
function unfinishedPrefix(file: string): string {
  return join(dirname(file), `.${basename(file)}.part-`);
}

/** Nobody can know whether another process is still at it: that is for whoever is told. */
function tellUnfinished({ file, onUnfinished }: BackupOptions): void {
  const prefix = basename(unfinishedPrefix(file));
  for (const name of namesIn(dirname(file))) {
    if (name.startsWith(prefix)) onUnfinished(join(dirname(file), name));
  }
}

/** None of a folder that may not be looked into: files may be put there all the same. */
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

/** Puts the copy in its place, on stable storage. */
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

/** Unlike a rename, a link never replaces what somebody has put there meanwhile. */
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
