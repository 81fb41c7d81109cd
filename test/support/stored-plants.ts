import { DatabaseSync } from "node:sqlite";
import { readRows } from "./sqlite-rows.ts";

/** A row with its bytes in hex, which any wrong character would change. */
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** Reads the SQLite file byte for byte, in the order of the ids, as an operator would. */
export function readStoredPlants(database: string): StoredPlant[] {
  using db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  return readRows(db, everyPlant);
}

// hex() returns an empty text for NULL.
const everyPlant = `
  SELECT id, hex(name) AS name, CASE WHEN tag IS NOT NULL THEN hex(tag) END AS tag
  FROM plants ORDER BY id`;

export function storedForm(plant: { id: bigint; name: string; tag?: string }): StoredPlant {
  const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();
  const { id, name, tag } = plant;
  return { id, name: hex(name), tag: tag === undefined ? null : hex(tag) };
}
