import { chmodSync, statSync } from "node:fs";
import { StoreError } from "../open-error.ts";
import { openError, openForReading } from "./database.ts";
import { backup, Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { assertPlantStore } from "./schema.ts";

export interface BackupOptions {
  /** An empty file, which becomes the copy. Absolute, of less than 500 bytes. */
  readonly file: string;
  /** Stops the backup between two steps of the copy. */
  readonly signal: AbortSignal;
  /** Called between two steps of the copy; counts pages of the database. */
  readonly onProgress: (done: number, total: number) => void;
  /** Called before the copy is verified: meanwhile, this thread hears no signal. */
  readonly onCopied?: () => void;
}

/** About 8 MiB, so that an abort takes effect within tens of milliseconds. */
const pagesEach = 2000;

/**
 * Copies a database while servers use it, and verifies the copy: one file without a log, which the
 * caller syncs. One read transaction, so no writer waits, and SQLite does not start over after each
 * commit. The log grows until the end, so the fastest copy is best (VACUUM INTO rebuilds the
 * database). @throws {StoreError}
 */
export async function backupDatabase(path: string, options: BackupOptions): Promise<number> {
  const count = await copy(path, options);
  options.onCopied?.();
  try {
    verify(options.file, count);
    chmodSync(options.file, statSync(path).mode & 0o777);
  } catch (error) {
    throw backupError("the copy could not be verified, and was not kept", error);
  }
  return count;
}

async function copy(path: string, { file, signal, onProgress }: BackupOptions): Promise<number> {
  const assertWanted = () => {
    if (signal.aborted) throw new StoreError("interrupted");
  };
  try {
    using db = openForReading(path);
    assertPlantStore(db);
    db.exec("BEGIN");
    const count = Number(readValue(db, "SELECT count(*) FROM plants"));
    const copying = backup(db, file, {
      rate: pagesEach,
      progress({ totalPages, remainingPages }) {
        assertWanted();
        onProgress(totalPages - remainingPages, totalPages);
      },
    });
    await copying.catch((error) => {
      throw backupError("cannot copy the store to the backup", error);
    });
    assertWanted();
    return count;
  } catch (error) {
    throw error instanceof StoreError ? error : openError(path, error);
  }
}

function verify(file: string, count: number): void {
  using db = new Database(file);
  db.exec("PRAGMA journal_mode = DELETE");
  const fault = readValue(db, "PRAGMA integrity_check(1)");
  const found = Number(readValue(db, "SELECT count(*) FROM plants"));
  if (fault !== "ok") {
    const problem = `the store is damaged, and so is its copy, which was not kept: ${String(fault).replaceAll("\n", " ")}; run plant-store check`;
    throw new StoreError(problem);
  }
  if (found !== count) {
    const problem = `the copy has ${found} plants instead of ${count}, and was not kept; back up again`;
    throw new StoreError(problem);
  }
}

function backupError(what: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError(`${what} (${failureCode(cause)})`, { cause });
}
