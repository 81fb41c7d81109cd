import { dirname } from "node:path";
import { textFields } from "../../plant.ts";
import { assertUsable, checkpoint } from "./database.ts";
import {
  assertRoom,
  type Database,
  inTransaction,
  pageBytes,
  readValue,
  sqliteError,
} from "./driver.ts";
import { describe, failureCode, isOfRow } from "./failure.ts";
import { type Failure, rowLength, type Unstored, type Value } from "./messages.ts";

/** SQLite's code for a row that a trigger rejects. */
const rejected = 1811;

/**
 * The frames (pages of 4 KiB) in the log that trigger a checkpoint. Few enough that commits behind
 * it wait tens of milliseconds, and many enough that a page is written once for several commits.
 */
const logFramesMax = 4000;

/** How many frames may be written, about, before the length of the log is read again. */
const framesPerLook = 256;

export function createWriter(db: Database) {
  const folder = dirname(db.location() ?? "");
  const isSame = textFields
    .map((field, index) => `${field} COLLATE BINARY IS ?${index + 2}`)
    .join(" AND ");
  const selectStored = db.prepare(`SELECT ${isSame} AS isSame FROM plants WHERE id = ?1`);
  const selectChanges = db.prepare("SELECT total_changes() AS count");
  const selectSchema = db.prepare("PRAGMA schema_version");
  let insert: ReturnType<Database["prepare"]>;
  /** SQLite's count of changes to the schema when the table was last looked at. */
  let schemaSeen: unknown;
  /** Written since the length of the log was last read, at most. An earlier process leaves some. */
  let framesWritten = framesPerLook;
  return { write, inspect, probe, checkpointWhenDue };

  /**
   * Writes rows in one transaction.
   * @param values Of the rows, one after another.
   * @returns After COMMIT: the rows that were not stored.
   * @throws The error that made the commit fail, after a rollback.
   */
  function write(values: readonly Value[]): Unstored {
    const unstored: [row: number, error?: Failure][] = [];
    const rows = values.length / rowLength;
    const frames = framesOf(rows, values);
    assertRoom(folder, frames);
    framesWritten += frames;
    const batch = Array.from({ length: rows }, (_, index) =>
      values.slice(index * rowLength, (index + 1) * rowLength),
    );
    inTransaction(db, () => {
      inspect();
      const before = countChanges();
      let inserted = 0;
      for (const [index, row] of batch.entries()) {
        try {
          if (insert.run(...row).changes > 0) inserted++;
          else if (!isStored(row)) unstored.push([index]);
        } catch (error) {
          const code = failureCode(error);
          // As an expression of an index does.
          const mayBeOfRow = isOfRow(code) || code === "SQLITE_ERROR";
          // A trigger may also have ended the transaction.
          if (!mayBeOfRow || !db.isTransaction) throw error;
          unstored.push([index, describe(error)]);
        }
      }
      if (countChanges() - before === inserted) return;
      // Triggers have changed something, perhaps these rows.
      for (const [index, row] of batch.entries()) {
        if (unstored.some(([other]) => other === index) || isStored(row)) continue;
        throw sqliteError("a trigger changed the plant", rejected);
      }
    });
    return unstored;
  }

  /** @throws If another program has changed the table so that it cannot store plants. */
  function inspect(): void {
    const schema = selectSchema.get()?.["schema_version"];
    if (schema === schemaSeen) return;
    assertUsable(db);
    // ABORT overrides ON CONFLICT of the table, such as to replace plants, but also OR IGNORE in triggers.
    const hasRule = "SELECT sql LIKE '%CONFLICT%' FROM sqlite_schema WHERE name LIKE 'plants'";
    insert = db.prepare(
      `INSERT ${readValue(db, hasRule) === 1 ? "OR ABORT" : ""} INTO plants (id, ${textFields.join(", ")})
       VALUES (?${", ?".repeat(textFields.length)}) ON CONFLICT (id) DO NOTHING`,
    );
    // Otherwise `run` throws after inserting an id beyond 2^53, because it reports the id.
    insert.setReadBigInts(true);
    schemaSeen = schema;
  }

  /**
   * Commits a transaction that changes nothing but still writes a page to the log and syncs it: it
   * overwrites the schema version with itself. (One that is rolled back never touches the disk.)
   * @param pages As many such transactions: each takes room for one page.
   * @throws The error that made it fail, after a rollback.
   */
  function probe(pages: number): void {
    assertRoom(folder);
    const versionNow = () => Number(readValue(db, "PRAGMA user_version"));
    const touch = () => db.exec(`PRAGMA user_version = ${versionNow()}`);
    for (let page = 0; page < pages; page++) inTransaction(db, touch);
  }

  function checkpointWhenDue(): void {
    if (framesWritten < framesPerLook) return;
    framesWritten = 0;
    const { log, checkpointed } = checkpoint(db, "NOOP");
    if (log - checkpointed >= logFramesMax) checkpoint(db, "PASSIVE");
  }

  /** False if another plant has its id. @throws {Error} If the id is not stored. */
  function isStored(row: readonly Value[]): boolean {
    const stored = selectStored.get(...row);
    if (stored === undefined) throw sqliteError("a trigger left the plant out", rejected);
    return stored["isSame"] === 1;
  }

  function countChanges(): number {
    return Number(selectChanges.get()?.["count"]);
  }
}

/** The pages of the table that rows change, and those of their texts. */
function framesOf(rows: number, values: readonly Value[]): number {
  let bytes = 0;
  // A UTF-16 code unit is at most three bytes of UTF-8.
  for (const value of values) if (typeof value === "string") bytes += 3 * value.length;
  return 4 * rows + bytes / pageBytes;
}
