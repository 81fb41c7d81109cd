import { type NewPlant, plantFrom, type TextField, textFields } from "../../plant.ts";
import { StoreError, StoreOpenError } from "../open-error.ts";
import type { PageLimits, PlantReader } from "../plant-reader.ts";
import { openError, openForReading } from "./database.ts";
import { type Database, readValue } from "./driver.ts";
import { failureCode } from "./failure.ts";
import { assertPlantStore, migrations } from "./schema.ts";
import { isOpen } from "./thread.ts";

type Row = readonly [id: bigint, ...texts: (string | null)[]];

/** The size of all texts in UTF-8. SQLite does not read a text to measure it. */
const textBytes = textFields.map((field) => `coalesce(octet_length(${field}), 0)`).join(" + ");

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * For commands, on the caller's thread. A server's log grows until it closes.
 * @param path Absolute. @throws {StoreOpenError}
 */
export function openSqliteReader(path: string): PlantReader {
  let db: Database | undefined;
  try {
    db = openForReading(path, isOpen(path));
    if (assertPlantStore(db) !== migrations.length) {
      const problem = `${path} has the schema of an earlier release; run plant-store migrate up --store URL first`;
      throw new StoreOpenError("unsupported", problem);
    }
    return createReader(db, path);
  } catch (error) {
    db?.close();
    throw openError(path, error);
  }
}

function createReader(db: Database, path: string): PlantReader {
  const page = "FROM plants WHERE id >= ? ORDER BY id LIMIT ?";
  const select = db.prepare(`SELECT id, ${textFields.join(", ")} ${page}`);
  select.setReadBigInts(true);
  select.setReturnArrays(true);
  const selectSize = db.prepare(
    `SELECT sum(bytes) AS bytes FROM (SELECT ${textBytes} AS bytes ${page})`,
  );
  const blobs = textFields.map((field) => `CAST(${field} AS BLOB) AS ${field}`).join(", ");
  const selectBytes = db.prepare(`SELECT ${blobs} FROM plants WHERE id = ?`);
  // The snapshot is taken by the first statement.
  db.exec("BEGIN");
  return {
    count: Number(readValue(db, "SELECT count(*) FROM plants")),
    async readPage(from, limits) {
      try {
        return read(from, limits);
      } catch (cause) {
        if (cause instanceof StoreError) throw cause;
        throw new StoreError(`${path} could not be read (${failureCode(cause)})`, { cause });
      }
    },
    place: async () => path,
    async [Symbol.asyncDispose]() {
      db.close();
    },
  };

  function read(from: bigint, { rowsMax, bytesMax }: PageLimits): readonly NewPlant[] {
    const measure = (rows: number) => Number(selectSize.get(from, rows)?.["bytes"]);
    // All rows of a page at once: one after another, they take three times as long.
    let [count, bytes] = [rowsMax, measure(rowsMax)];
    while (count > 1 && bytes > bytesMax) {
      count = Math.ceil(count / 2);
      bytes = measure(count);
    }
    const rows = select.all(from, count) as unknown as readonly Row[];
    const text = rows.map(([, ...texts]) => texts.join("")).join("");
    const isExact = !text.includes("\ufffd") && Buffer.byteLength(text) === bytes;
    return rows.map(([id, ...texts]) => {
      const textOf = (field: TextField) => texts[textFields.indexOf(field)];
      if (textOf("name") === null) {
        throw new StoreError(`plant ${id} in ${path} has no name, but NULL; fix it`);
      }
      return isExact ? plantFrom(id, textOf) : readBytes(id);
    });
  }

  /** Node replaces bytes that are not UTF-8, and before 26.10 ends a text at U+0000. */
  function readBytes(id: bigint): NewPlant {
    const row = selectBytes.get(id) as Readonly<Record<TextField, Uint8Array | null>>;
    try {
      return plantFrom(id, (field) => row[field] && utf8.decode(row[field]));
    } catch (cause) {
      throw new StoreError(`the text of plant ${id} in ${path} is not UTF-8; fix it`, { cause });
    }
  }
}
