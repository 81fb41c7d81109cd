import { isSamePlant, type NewPlant, type TextField, textFields } from "../../plant.ts";
import type { RowOutcome } from "../engine.ts";
import { isOfRow, sqlState, Unconfirmed } from "./failure.ts";
import type { Row, Session } from "./session.ts";

/** Runs a statement in its own transaction. */
export type Query = (text: string, values: readonly (string | null)[]) => Promise<readonly Row[]>;

const columns = ["id", ...textFields];

/**
 * Sets what the commit needs until the end of the transaction. Part of each statement, because
 * behind a pooler the next one may run in another session. `client_min_messages` must not hide the
 * warnings of a commit. Null if a setting has no effect.
 */
const promise = `CASE
    WHEN set_config('synchronous_commit', CASE current_setting('synchronous_commit')
      WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true) IN ('on', 'remote_apply')
    AND set_config('client_min_messages', 'warning', true) = 'warning'`;

/** And texts are taken as they are sent: a trigger, or a client of the same pooler, may change that. */
const inUtf8 = `${promise} AND current_setting('client_encoding') = 'UTF8'`;

/**
 * Locks existing rows: the update never happens, but locks its row. PostgreSQL neither syncs a
 * transaction that does nothing nor waits for a standby, but does both for one that holds a lock.
 * So a row that was found is as safe as one that was inserted, even if a crash left it visible but
 * not yet replicated.
 */
const lockOrInsert =
  "ON CONFLICT (id) DO UPDATE SET name = kept.name WHERE false RETURNING kept.id";

/**
 * Without either, the first name is null, and nothing is stored. VALUES, because Citus would
 * collect the rows of a SELECT first.
 */
function insertOf(count: number): string {
  const rows = rowsOf(count, (place, parameters) =>
    place === 0
      ? parameters.with(columns.indexOf("name"), `${inUtf8} THEN ${parameters[1]} END`)
      : parameters,
  );
  return `INSERT INTO @schema@.plants AS kept (${columns.join(", ")}) VALUES ${rows} ${lockOrInsert}`;
}

/** Inserts nothing, but fails if an insert would be rejected as a statement. */
const insertNothing = `
  INSERT INTO @schema@.plants AS kept (${columns.join(", ")})
  SELECT ${columns.join(", ")} FROM @schema@.plants WHERE false ${lockOrInsert}`;

/**
 * Finds the rows that are equal to what is stored, byte by byte, whatever the collation, and the
 * encoding that a trigger has set. The server compares, because what is stored may be far larger.
 * The list of ids is redundant, but keeps Citus from querying shards that have none of them.
 */
function compareOf(count: number): string {
  const rows = rowsOf(count, (place, parameters) => [
    String(place),
    ...parameters.map((parameter, index) => parameter + (index === 0 ? "::bigint" : "::text")),
  ]);
  const ids = Array.from({ length: count }, (_, place) => `$${place * columns.length + 1}`);
  return `
    SELECT wanted.place,
      ${textFields.map(isSameText).join("\n      AND ")}
    FROM (VALUES ${rows}) AS wanted (place, ${columns.join(", ")})
    JOIN @schema@.plants AS kept ON kept.id = wanted.id
    WHERE kept.id IN (${ids.join(", ")})`;
}

function rowsOf(
  count: number,
  toRow: (place: number, parameters: readonly string[]) => readonly string[],
): string {
  return Array.from({ length: count }, (_, place) => {
    const parameters = columns.map((_, index) => `$${place * columns.length + index + 1}`);
    return `(${toRow(place, parameters).join(", ")})`;
  }).join(", ");
}

/** An error: the table does not keep the plant. */
export type Outcomes = readonly (RowOutcome | Error)[];

/**
 * Writes the batch. Both statements may be run again, by anybody, at any time.
 * @param hasTriggers Whether triggers may skip, change or delete what is inserted: all is compared
 * then.
 * @returns One outcome a row, in the order of the rows.
 * @throws {Unconfirmed} If a row disappeared that was there a moment ago.
 */
export async function writeBatch(
  query: Query,
  batch: readonly NewPlant[],
  hasTriggers = false,
): Promise<Outcomes> {
  const firsts = firstOfEachId(batch);
  const insert = () => insertRows(query, firsts);
  // During REINDEX CONCURRENTLY, one of two at a time may fail so. Then it finds the other's row.
  const ids = await insert().catch((e) => (sqlState(e) === "23505" ? insert() : Promise.reject(e)));
  const inserted = new Map(firsts.filter(({ id }) => ids.has(id)).map((one) => [one.id, one]));
  const found = hasTriggers ? batch : batch.filter(({ id }) => !inserted.has(id));
  const equal = found.length === 0 ? new Map() : await compare(query, found);
  // Triggers may change the settings of a commit. Another one waits for all before it.
  if (hasTriggers) await query(commitMessage, []);
  return batch.map((plant) => {
    const first = inserted.get(plant.id);
    const isFound = hasTriggers || first === undefined;
    const isEqual = isFound ? equal.get(plant) : isSamePlant(plant, first);
    if (isEqual === true) return "created";
    if (hasTriggers && (isEqual === undefined || plant === first)) return notKept;
    if (isEqual === undefined) throw new Unconfirmed("a plant was there, and then was not");
    return "id_taken";
  });
}

const notKept = new Error("a trigger, or another program, skips, changes or deletes the plant");

/**
 * Writes to the same disk with the same permissions as a batch, and leaves nothing. The transaction
 * commits, so its log is flushed and it waits for standbys; the savepoint removes the rows. If an id
 * is taken, its row is locked and left unchanged.
 * @param tries Each for when the table refuses those before. It may take others than all of these:
 * then an empty message takes their place in the log.
 */
export async function probeWrite(
  session: Session,
  tries: readonly (readonly NewPlant[])[],
  timeoutMs: number,
): Promise<void> {
  const query: Query = (text, values) => session.query(text, values, timeoutMs);
  const execute = (text: string) => session.execute(text, timeoutMs);
  // Outside the savepoint, whose rollback would undo the settings as well.
  await execute(`BEGIN; SELECT ${promise} THEN true END; SAVEPOINT probe`);
  try {
    let message = commitMessage;
    for (const plants of tries) {
      try {
        await insertRows(query, plants);
        message = "";
        break;
      } catch (error) {
        if (!isOfRow(error)) throw error;
        await execute("ROLLBACK TO SAVEPOINT probe");
      }
    }
    await execute(`ROLLBACK TO SAVEPOINT probe; ${message} COMMIT`);
  } catch (error) {
    // If this fails, the connection is lost, and the transaction with it.
    await execute("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Without one, a transaction that changed nothing would commit without a flush or a standby. */
const commitMessage = `SELECT ${promise} THEN pg_logical_emit_message(true, 'plant-store', '') END;`;

/** Checks that the statement is valid and permitted, and that a pooler keeps transactions whole. */
export async function tryInsert(session: Session): Promise<void> {
  for (const text of ["BEGIN", insertNothing, "ROLLBACK"]) await session.query(text);
}

/** Sorted, so that batches with common ids lock them in the same order. */
function firstOfEachId(batch: readonly NewPlant[]): readonly NewPlant[] {
  const firsts = new Map(batch.toReversed().map((plant) => [plant.id, plant]));
  return [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function insertRows(query: Query, plants: readonly NewPlant[]): Promise<ReadonlySet<bigint>> {
  const rows = await query(insertOf(plants.length), toValues(plants));
  return new Set(rows.map(([id]) => BigInt(String(id))));
}

/** @returns Whether each plant is stored as it is; none for an id that is not stored. */
async function compare(query: Query, plants: readonly NewPlant[]) {
  const rows = await query(compareOf(plants.length), toValues(plants));
  return new Map(rows.map(([place, isEqual]) => [plants[Number(place)], isEqual === true]));
}

function toValues(plants: readonly NewPlant[]): readonly (string | null)[] {
  return plants.flatMap((plant) => [
    String(plant.id),
    ...textFields.map((field) => plant[field] ?? null),
  ]);
}

function isSameText(field: TextField): string {
  const wanted = `convert_to(wanted.${field}, current_setting('client_encoding'))`;
  return `convert_to(kept.${field}, 'UTF8') IS NOT DISTINCT FROM ${wanted}`;
}
