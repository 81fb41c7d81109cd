import { randomBytes } from "node:crypto";
import { isSamePlant, type NewPlant, type TextField, textFields } from "../../plant.ts";
import type { RowOutcome } from "../engine.ts";
import { Unconfirmed } from "./failure.ts";
import type { Row } from "./session.ts";

type Column = readonly (string | number | null)[];

/** Runs a statement in a transaction of its own. */
export type Query = (text: string, values: readonly Column[]) => Promise<readonly Row[]>;

const columns = ["id", ...textFields].join(", ");

/**
 * Inserts what is new, and locks what is there: the update that never happens
 * locks its row. A transaction that does nothing is not made durable, and
 * neither does it wait for a standby; one that holds a lock is, and does. So
 * what it has found is as safe as what it has inserted, even a row that a crash
 * has left visible and not yet replicated.
 */
const insert = `
  INSERT INTO plants AS kept (${columns})
  SELECT ${columns} FROM unnest($1::bigint[]${textArrays(2)}) AS wanted (${columns})
  ON CONFLICT (id) DO UPDATE SET name = kept.name WHERE false
  RETURNING id`;

/**
 * Which rows are equal to what is stored, as bytes: a column may have a
 * collation that takes two texts for one. The server compares, because what is
 * stored may be far larger than what it is compared with.
 */
const compare = `
  SELECT wanted.place,
    ${textFields.map(isSameText).join("\n      AND ")}
  FROM unnest($1::int[], $2::bigint[]${textArrays(3)}) AS wanted (place, ${columns})
  JOIN plants AS kept ON kept.id = wanted.id`;

/**
 * Writes the batch. Both statements may be run again, by anybody, at any time.
 *
 * @returns One outcome a row, in the order of the rows.
 * @throws {Unconfirmed} Where a row is gone that was there a moment ago.
 */
export async function writeBatch(
  query: Query,
  batch: readonly NewPlant[],
): Promise<readonly RowOutcome[]> {
  const firsts = firstOfEachId(batch);
  const inserted = await insertRows(query, firsts);
  const found = batch.filter(({ id }) => !inserted.has(id));
  const equal = found.length === 0 ? new Set() : await findEqual(query, found);
  const firstById = new Map(firsts.map((plant) => [plant.id, plant]));
  return batch.map((plant) => {
    const first = firstById.get(plant.id);
    const isEqual =
      first !== undefined && inserted.has(plant.id) ? isSamePlant(plant, first) : equal.has(plant);
    return isEqual ? "created" : "id_taken";
  });
}

/**
 * Writes as a batch does, by the same rights and to the same disk, and leaves
 * nothing. The transaction commits, so its log is flushed and standbys are
 * waited for; the savepoint takes the row back. An id that is taken is locked
 * and left as it is.
 *
 * @param execute Runs statements without parameters.
 */
export async function probeWrite(
  query: Query,
  execute: (text: string) => Promise<void>,
): Promise<void> {
  // One server's probe does not wait for another's.
  const id = randomBytes(8).readBigInt64BE();
  await execute("BEGIN; SAVEPOINT probe");
  try {
    await insertRows(query, [{ id, name: "", tag: undefined }]);
    await execute("ROLLBACK TO SAVEPOINT probe; COMMIT");
  } catch (error) {
    // Where this fails, the connection is lost, and with it the transaction.
    await execute("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Sorted, so that batches that have ids in common lock them in one order. */
function firstOfEachId(batch: readonly NewPlant[]): readonly NewPlant[] {
  const firsts = new Map<bigint, NewPlant>();
  for (const plant of batch) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  return [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function insertRows(query: Query, plants: readonly NewPlant[]): Promise<ReadonlySet<bigint>> {
  const rows = await query(insert, toColumns(plants));
  return new Set(rows.map(([id]) => BigInt(String(id))));
}

async function findEqual(
  query: Query,
  plants: readonly NewPlant[],
): Promise<ReadonlySet<NewPlant>> {
  const rows = await query(compare, [plants.map((_, place) => place), ...toColumns(plants)]);
  if (rows.length !== plants.length) {
    throw new Unconfirmed("a plant was there, and then was not: somebody deletes plants");
  }
  const places = new Set(rows.filter(([, isEqual]) => isEqual === true).map(([place]) => place));
  return new Set(plants.filter((_, place) => places.has(place)));
}

function toColumns(plants: readonly NewPlant[]): readonly Column[] {
  return [
    plants.map(({ id }) => String(id)),
    ...textFields.map((field) => plants.map((plant) => plant[field] ?? null)),
  ];
}

/** The parameters of all texts, from this one on. */
function textArrays(first: number): string {
  return textFields.map((_, index) => `, $${first + index}::text[]`).join("");
}

function isSameText(field: TextField): string {
  const [kept, wanted] = ["kept", "wanted"].map((row) => `convert_to(${row}.${field}, 'UTF8')`);
  return `${kept} IS NOT DISTINCT FROM ${wanted}`;
}
