import type { StatementSync } from "node:sqlite";
import { textFields } from "../../plant.ts";
import { checkpoint } from "./database.ts";
import { type Database, inTransaction, readValue } from "./driver.ts";
import type { RowValues } from "./queue/queue-reader.ts";

/**
 * Frames (pages of 4 KiB) in the log that bring about a checkpoint: few enough
 * that the commits behind it wait for tens of milliseconds and a start after a
 * crash is quick, many enough that a page is written once for several commits.
 */
const logFramesMax = 4000;

/** Writes plants, batch by batch, on an open database. */
export class Writer {
  readonly #db: Database;
  readonly #insert: StatementSync;
  readonly #same: StatementSync;

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepare(
      `INSERT INTO plants (id, ${textFields.join(", ")})
       VALUES (?${", ?".repeat(textFields.length)}) ON CONFLICT (id) DO NOTHING`,
    );
    const isSame = textFields.map((field) => `${field} IS ?`).join(" AND ");
    this.#same = db.prepare(`SELECT 1 FROM plants WHERE id = ? AND ${isSame}`);
    // Else `run` throws behind an insert whose id, which it reports, is beyond 2^53.
    this.#insert.setReadBigInts(true);
  }

  /**
   * Writes all batches in one transaction.
   *
   * @returns After COMMIT: for each row of each batch whether its id is another plant's.
   * @throws Whatever made the commit fail, after a rollback.
   */
  write(batches: readonly (readonly RowValues[])[]): readonly (readonly boolean[])[] {
    const write = (all: typeof batches) => all.map((rows) => rows.map((row) => this.#isTaken(row)));
    return inTransaction(this.#db, () => write(batches));
  }

  /**
   * Commits a transaction that changes nothing and still writes a page to the log and
   * syncs it: the schema version, over itself. One that is rolled back never
   * touches the disk.
   *
   * @throws Whatever made the commit fail, after a rollback.
   */
  probe(): void {
    const version = Number(readValue(this.#db, "PRAGMA user_version"));
    inTransaction(this.#db, () => this.#db.exec(`PRAGMA user_version = ${version}`));
  }

  /** Moves the log into the database once it is long enough. */
  checkpointWhenDue(): void {
    const { log, checkpointed } = checkpoint(this.#db, "NOOP");
    if (log - checkpointed >= logFramesMax) checkpoint(this.#db, "PASSIVE");
  }

  /** Writes a row. @returns Whether its id is another plant's. */
  #isTaken(row: RowValues): boolean {
    if (this.#insert.run(...row).changes > 0) return false;
    return this.#same.get(...row) === undefined;
  }
}
