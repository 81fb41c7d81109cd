import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import type { NewPlant } from "../../plant.ts";
import { StoreOpenError } from "../open-error.ts";
import type { PageLimits, PlantReader } from "../plant-reader.ts";
import { StoreReadError } from "../read-error.ts";
import { openError } from "./database.ts";
import { assertDriver } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { assertKnown, assertPlantStore, migrations } from "./schema.ts";

interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly bytes: bigint;
}

type Bytes = Readonly<Record<"name" | "tag", Uint8Array | null>>;

/**
 * Reads on the thread of the caller: for commands that do nothing besides. A
 * server may have the file open meanwhile; its log grows until the reader closes.
 */
export class SqliteReader implements PlantReader {
  readonly count: number;
  readonly #db: Database.Database;
  readonly #select: Database.Statement<[bigint, number], PlantRow>;
  readonly #selectBytes: Database.Statement<[bigint], Bytes>;

  /**
   * @param path Absolute.
   * @throws {StoreOpenError}
   */
  static open(path: string, busyTimeoutMs: number): SqliteReader {
    assertDriver();
    if (!existsSync(path)) {
      throw new StoreOpenError("inaccessible", `there is no store at ${path}; check the store URL`);
    }
    let db: Database.Database | undefined;
    try {
      // Not by way of the file's header, as for writing: to close any descriptor
      // of the file would drop the locks that this process has on it.
      db = new Database(path, { readonly: true, fileMustExist: true, timeout: busyTimeoutMs });
      assertReadable(db);
      return new SqliteReader(db);
    } catch (error) {
      db?.close();
      throw openError(path, error);
    }
  }

  private constructor(db: Database.Database) {
    this.#db = db;
    this.#select = db
      .prepare<[bigint, number], PlantRow>(
        `SELECT id, name, tag, octet_length(name) + coalesce(octet_length(tag), 0) AS bytes
         FROM plants WHERE id >= ? ORDER BY id LIMIT ?`,
      )
      .safeIntegers();
    this.#selectBytes = db.prepare(
      "SELECT CAST(name AS BLOB) AS name, CAST(tag AS BLOB) AS tag FROM plants WHERE id = ?",
    );
    // The snapshot is that of the first statement.
    db.exec("BEGIN");
    this.count = Number(db.prepare("SELECT count(*) FROM plants").pluck().get());
  }

  async readPage(from: bigint, limits: PageLimits): Promise<readonly NewPlant[]> {
    try {
      return this.#read(from, limits);
    } catch (error) {
      if (error instanceof StoreReadError) throw error;
      throw new StoreReadError(`${this.#db.name} could not be read (${failureCode(error)})`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #read(from: bigint, { rowsMax, bytesMax }: PageLimits): readonly NewPlant[] {
    const page: NewPlant[] = [];
    const doubtful: NewPlant[] = [];
    let bytes = 0;
    for (const row of this.#select.iterate(from, rowsMax)) {
      bytes += Number(row.bytes);
      if (page.length > 0 && bytes > bytesMax) break;
      const plant = { id: row.id, name: row.name, tag: row.tag ?? undefined };
      page.push(plant);
      if (`${plant.name}${plant.tag}`.includes("\ufffd")) doubtful.push(plant);
    }
    for (const plant of doubtful) this.#assertExact(plant);
    return page;
  }

  /** The driver makes U+FFFD of bytes that are not UTF-8: not of ours, but anybody can write the file. */
  #assertExact({ id, name, tag }: NewPlant): void {
    const stored = this.#selectBytes.get(id);
    const isExact = (text: string | undefined, bytes: Uint8Array | null | undefined) =>
      Buffer.from(text ?? "").equals(bytes ?? new Uint8Array());
    if (isExact(name, stored?.name) && isExact(tag, stored?.tag)) return;
    throw new StoreReadError(`the text of plant ${id} in ${this.#db.name} is not UTF-8; mend it`);
  }
}

/** @throws {StoreOpenError} `foreign`, `newer_schema`, `unsupported` */
function assertReadable(db: Database.Database): void {
  assertPlantStore(db);
  const version = Number(db.pragma("user_version", { simple: true }));
  assertKnown(db.name, version);
  if (version === migrations.length) return;
  throw new StoreOpenError(
    "unsupported",
    `${db.name} has the schema of an earlier release; run plant-store migrate up --store URL first`,
  );
}
