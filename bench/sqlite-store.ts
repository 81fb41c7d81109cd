import { closeSync, fsyncSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { readValue } from "../src/store/sqlite/driver.ts";
import { spreadIds } from "./plant-ids.ts";

/** Reads the file as an operator would. */
export function countStoredPlants(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    return Number(readValue(db, "SELECT count(*) FROM plants"));
  } finally {
    db.close();
  }
}

/** Creates a store with this many plants. Their ids leave gaps for others everywhere. */
export function fillStore(file: string, plants: number): void {
  const db = openDatabase(file, 5000);
  try {
    // These plants need not be durable.
    db.exec("PRAGMA synchronous = OFF");
    db.exec("PRAGMA journal_mode = DELETE");
    db.prepare(insertPlants).run({ plants, ...spreadIds(plants) });
    db.exec("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
  // So that the system does not write it to disk during the measurements.
  const fd = openSync(file, "r+");
  fsyncSync(fd);
  closeSync(fd);
}

const insertPlants = `
  WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $plants)
  INSERT INTO plants (id, name, tag)
  SELECT $first + CAST(n AS INTEGER) * CAST($step AS INTEGER), 'Basil', 'herb' FROM numbers`;
