import type { StatementSync } from "node:sqlite";
import { type NewPlant, plantFrom, type TextField, textFields } from "../../plant.ts";
import { StoreError, StoreOpenError } from "../open-error.ts";
import type { PageLimits, PlantReader } from "../plant-reader.ts";
import { openError, openForReading } from "./database.ts";
import { type Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { assertPlantStore, migrations } from "./schema.ts";

type Row = readonly [id: bigint, ...texts: (string | null)[]];

/** The size of all texts in UTF-8. SQLite does not read a text to measure it. */
const textBytes = textFields.map((field) => `coalesce(octet_length(${field}), 0)`).join(" + ");

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** For commands, on the caller's thread. A server's log grows until it closes. */
export class SqliteReader implements PlantReader {
  readonly count: number;
  readonly #db: Database;
  readonly #path: string;
  readonly #select: StatementSync;
  readonly #measure: StatementSync;
  readonly #selectBytes: StatementSync;

  /** @param path Absolute. @throws {StoreOpenError} */
  static open(path: string): SqliteReader {
    let db: Database | undefined;
    try {
      // Not with the header first: closing another descriptor would release this process's locks.
      db = openForReading(path);
      assertReadable(db, path);
      return new SqliteReader(db, path);
    } catch (error) {
      db?.close();
      throw openError(path, error);
    }
  }

  private constructor(db: Database, path: string) {
    this.#db = db;
    this.#path = path;
    const page = "FROM plants WHERE id >= ? ORDER BY id LIMIT ?";
    this.#select = db.prepare(`SELECT id, ${textFields.join(", ")} ${page}`);
    this.#select.setReadBigInts(true);
    this.#select.setReturnArrays(true);
    this.#measure = db.prepare(
      `SELECT sum(bytes) AS bytes FROM (SELECT ${textBytes} AS bytes ${page})`,
    );
    const blobs = textFields.map((field) => `CAST(${field} AS BLOB) AS ${field}`).join(", ");
    this.#selectBytes = db.prepare(`SELECT ${blobs} FROM plants WHERE id = ?`);
    // The snapshot is taken by the first statement.
    db.exec("BEGIN");
    this.count = Number(readValue(db, "SELECT count(*) FROM plants"));
  }

  async readPage(from: bigint, limits: PageLimits): Promise<readonly NewPlant[]> {
    try {
      return this.#read(from, limits);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      throw new StoreError(`${this.#path} could not be read (${failureCode(error)})`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #read(from: bigint, { rowsMax, bytesMax }: PageLimits): readonly NewPlant[] {
    const measure = (rows: number) => Number(this.#measure.get(from, rows)?.["bytes"]);
    // All rows of a page at once: one after another, they take three times as long.
    let [count, bytes] = [rowsMax, measure(rowsMax)];
    while (count > 1 && bytes > bytesMax) {
      count = Math.ceil(count / 2);
      bytes = measure(count);
    }
    const rows = this.#select.all(from, count) as unknown as readonly Row[];
    const text = rows.map(([, ...texts]) => texts.join("")).join("");
    const isExact = !text.includes("\ufffd") && Buffer.byteLength(text) === bytes;
    return rows.map(([id, ...texts]) => {
      const textOf = (field: TextField) => texts[textFields.indexOf(field)];
      if (textOf("name") === null) {
        throw new StoreError(`plant ${id} in ${this.#path} has no name, but NULL; fix it`);
      }
      return isExact ? plantFrom(id, textOf) : this.#readBytes(id);
    });
  }

  /** Node replaces bytes that are not UTF-8, and before 26.10 ends a text at U+0000. */
  #readBytes(id: bigint): NewPlant {
    const row = this.#selectBytes.get(id) as Readonly<Record<TextField, Uint8Array | null>>;
    try {
      return plantFrom(id, (field) => row[field] && utf8.decode(row[field]));
    } catch (cause) {
      const message = `the text of plant ${id} in ${this.#path} is not UTF-8; fix it`;
      throw new StoreError(message, { cause });
    }
  }
}

/** @throws {StoreOpenError} `foreign`, `newer_schema`, `unsupported` */
function assertReadable(db: Database, path: string): void {
  if (assertPlantStore(db) === migrations.length) return;
  const problem = `${path} has the schema of an earlier release; run plant-store migrate up --store URL first`;
  throw new StoreOpenError("unsupported", problem);
}
