import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { NewPlant } from "../../../src/plant.ts";
import { openPlantReader, openStore } from "../../../src/store/open.ts";
import { readPages } from "../../../src/store/plant-reader.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { valuesOf } from "../../../src/store/sqlite/messages.ts";
import { Writer } from "../../../src/store/sqlite/writer.ts";
import { readRows } from "../../support/sqlite-rows.ts";
import { checkSqlite } from "../history/integrity.ts";
import { materialise, type Tree } from "./disk.ts";
import { type PlantSizes, plantOfNumber } from "./plants.ts";
import { databaseName } from "./recording.ts";

export interface Expected {
  readonly sizes: PlantSizes;
  /** Numbers of the acknowledged plants. */
  readonly acknowledged: ReadonlySet<number>;
  /** All numbers below this may have been tried. */
  readonly triedBelow: number;
}

/**
 * `store`: with its thread, and a reader. `database`: what the thread does, in this thread, in a
 * tenth of the time.
 */
export type VerifyThrough = "store" | "database";

/**
 * Opens what a crash has left with the store's own code.
 *
 * @param folder Created for this, and removed.
 * @returns What is wrong with it; undefined if nothing is.
 */
export async function verifyCrash(
  left: Tree,
  folder: string,
  expected: Expected,
  through: VerifyThrough,
): Promise<string | undefined> {
  await materialise(left, folder);
  const path = join(folder, databaseName);
  try {
    const next = plantOfNumber(expected.triedBelow, expected.sizes);
    const found = await (through === "store" ? useStore : useDatabase)(path, next);
    const damage = checkSqlite(path);
    return damage.length > 0 ? damage.join("; ") : compare(found, expected);
  } catch (error) {
    return `the store does not work: ${error instanceof Error ? error.message : error}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Plants = Map<bigint, Omit<NewPlant, "id">>;

/** @returns Its plants. Another plant can be created then. */
async function useStore(path: string, next: NewPlant): Promise<Plants> {
  const url = `sqlite:${path}`;
  const store = await openStore(url);
  try {
    const reader = await openPlantReader(url);
    const found: Plants = new Map();
    for await (const page of readPages(reader))
      for (const plant of page) found.set(plant.id, plant);
    await reader.close();
    await store.create(next);
    return found;
  } finally {
    await store.close();
  }
}

async function useDatabase(path: string, next: NewPlant): Promise<Plants> {
  const db = openDatabase(path, 100);
  try {
    const rows = readRows<{ id: bigint; name: string; tag: string | null }>(
      db,
      "SELECT * FROM plants",
    );
    new Writer(db).write(valuesOf([next]));
    return new Map(rows.map(({ id, name, tag }) => [id, { name, tag: tag ?? undefined }]));
  } finally {
    db.close();
  }
}

function compare(found: Plants, { sizes, acknowledged, triedBelow }: Expected): string | undefined {
  let known = 0;
  for (let number = 0; number < triedBelow; number++) {
    const tried = plantOfNumber(number, sizes);
    const stored = found.get(tried.id);
    if (stored === undefined) {
      if (acknowledged.has(number)) return `plant ${number} is lost`;
      continue;
    }
    known++;
    if (stored.name !== tried.name || stored.tag !== tried.tag) return `plant ${number} is changed`;
  }
  return known === found.size ? undefined : `${found.size - known} plants are there by nobody`;
}
