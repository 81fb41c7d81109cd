import { DatabaseSync } from "node:sqlite";
import { type NewPlant, textFields } from "../../src/plant.ts";
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
const hexOf = (field: string) =>
  `CASE WHEN ${field} IS NOT NULL THEN hex(${field}) END AS ${field}`;
const everyPlant = `SELECT id, ${textFields.map(hexOf).join(", ")} FROM plants ORDER BY id`;

export function storedForm(plant: NewPlant): StoredPlant {
  const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();
  const textOf = (text: string | undefined) => (text === undefined ? null : hex(text));
  const texts = textFields.map((field) => [field, textOf(plant[field])]);
  return { id: plant.id, ...Object.fromEntries(texts) };
}
