import type { StatementSync } from "node:sqlite";
import { type NewPlant, type TextField, textFields } from "../../plant.ts";
import { StoreOpenError, StoreReadError } from "../open-error.ts";
import type { PageLimits, PlantReader } from "../plant-reader.ts";
import { openError, openForReading } from "./database.ts";
import { type Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { assertKnown, assertPlantStore, migrations } from "./schema.ts";

type PlantRow<Text> = Readonly<Record<TextField, Text | null>> & {
  readonly id: bigint;
  readonly name: Text;
  /** The size of all texts in UTF-8. */
  readonly bytes: bigint;
};

const textBytes = textFields.map((field) => `coalesce(octet_length(${field}), 0)`).join(" + ");

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads on the caller's thread, for commands that do nothing else. A server may have the file open.
 * Its log grows until the reader closes.
 */
export class SqliteReader implements PlantReader {
  readonly count: number;
  readonly #db: Database;
  readonly #path: string;
  readonly #select: StatementSync;
  readonly #selectBytes: StatementSync;

  /**
   * @param path Absolute.
   * @throws {StoreOpenError}
   */
  static open(path: string): SqliteReader {
    let db: Database | undefined;
    try {
      // Does not read the file's header first, as opening for writing does: closing any descriptor
      // of the file would release the locks that this process holds on it.
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
    this.#select = db.prepare(
      `SELECT id, ${textFields.join(", ")}, ${textBytes} AS bytes
       FROM plants WHERE id >= ? ORDER BY id LIMIT ?`,
    );
    this.#select.setReadBigInts(true);
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
      if (error instanceof StoreReadError) throw error;
      throw new StoreReadError(`${this.#path} could not be read (${failureCode(error)})`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #read(from: bigint, { rowsMax, bytesMax }: PageLimits): readonly NewPlant[] {
    const page: NewPlant[] = [];
    let bytes = 0;
    for (const row of this.#select.iterate(from, rowsMax)) {
      const plant = row as unknown as PlantRow<string>;
      const { id, name, tag } = plant;
      bytes += Number(plant.bytes);
      if (page.length > 0 && bytes > bytesMax) break;
      const text = textFields.map((field) => plant[field] ?? "").join("");
      const isExact = !text.includes("\ufffd") && Buffer.byteLength(text) === Number(plant.bytes);
      if (name === null) {
        throw new StoreReadError(`plant ${id} in ${this.#path} has no name, but NULL; fix it`);
      }
      page.push(isExact ? { id, name, tag: tag ?? undefined } : this.#readBytes(id));
    }
    return page;
  }

  /**
   * Reads a plant whose text Node may have changed: Node replaces bytes that are not UTF-8 with
   * U+FFFD, and before 26.10 it ends a text at U+0000. Other programs can write such text.
   */
  #readBytes(id: bigint): NewPlant {
    const { name, tag } = this.#selectBytes.get(id) as unknown as PlantRow<Uint8Array>;
    try {
      return { id, name: utf8.decode(name), tag: tag === null ? undefined : utf8.decode(tag) };
    } catch (cause) {
      const message = `the text of plant ${id} in ${this.#path} is not UTF-8; fix it`;
      throw new StoreReadError(message, { cause });
    }
  }
}

/** @throws {StoreOpenError} `foreign`, `newer_schema`, `unsupported` */
function assertReadable(db: Database, path: string): void {
  assertPlantStore(db);
  const version = Number(readValue(db, "PRAGMA user_version"));
  assertKnown(path, version);
  if (version === migrations.length) return;
  throw new StoreOpenError(
    "unsupported",
    `${path} has the schema of an earlier release; run plant-store migrate up --store URL first`,
  );
}
