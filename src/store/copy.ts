import { isSamePlant, type NewPlant, PlantError, type PlantStore, textFields } from "../plant.ts";
import { openPlantReader, openStore, type StoreLocation } from "./open.ts";
import { StoreError } from "./open-error.ts";
import { type PlantReader, readPages } from "./plant-reader.ts";

/** `comparing` what the target already holds, `copying` the rest, `verifying` everything. */
export type CopyPhase = "comparing" | "copying" | "verifying";

export type OnCopyProgress = (phase: CopyPhase, done: number, total: number) => void;

/**
 * Copies the plants that a store holds now into another store, in the order of their ids. The
 * target may hold some of them already, after a copy that was killed. Both are compared row by row,
 * before and after. Nothing is overwritten: the target is written through its PlantStore.
 * @throws {StoreError}
 */
export async function copyPlants(
  { from, to }: Readonly<Record<"from" | "to", StoreLocation>>,
  onProgress: OnCopyProgress,
) {
  await using source = await openPlantReader(from);
  const store = await openStore(to);
  // Last, because only a writer of an SQLite file can remove its log.
  try {
    if (store.obstacle() === "disk_full") {
      throw new StoreError("there is no space left on the disk of the target; free some");
    }
    const held = await compare(source, to, "comparing", onProgress);
    await write(source, store, held, (done) => onProgress("copying", done, source.count));
    const { missing } = await compare(source, to, "verifying", onProgress);
    if (missing !== undefined) {
      const problem = `plant ${missing} is missing in the target: something deletes plants there`;
      throw new StoreError(problem);
    }
    return { plants: source.count, heldBefore: held.count };
  } finally {
    await store.close();
  }
}

type Comparison = Awaited<ReturnType<typeof compare>>;

/**
 * Compares every plant in the target with the source, in the order of the ids. Opens the target's
 * reader for this alone: it makes an SQLite target's log grow. @throws {StoreError}
 */
async function compare(
  source: PlantReader,
  to: StoreLocation,
  phase: CopyPhase,
  onProgress: OnCopyProgress,
) {
  await using target = await openPlantReader(to);
  if ((await target.place()) === (await source.place())) {
    throw new StoreError("--from and --to are the same store, by two URLs; name another as --to");
  }
  const { count } = target;
  const plants = plantsOf(source);
  let { value: wanted } = await plants.next();
  /** The first plant in the source that the target lacks. */
  let missing: bigint | undefined;
  /** How many plants of the source precede it. The target has all of them. */
  let matched = 0;
  /** The last plant that both have. */
  let last: bigint | undefined;
  let done = 0;
  for await (const page of readPages(target)) {
    for (const plant of page) {
      while (wanted !== undefined && wanted.id < plant.id) {
        missing ??= wanted.id;
        ({ value: wanted } = await plants.next());
      }
      assertSame(wanted, plant);
      if (missing === undefined) matched++;
      last = plant.id;
      ({ value: wanted } = await plants.next());
    }
    done += page.length;
    onProgress(phase, done, count);
  }
  return { missing: missing ?? wanted?.id, matched, last, count };
}

async function write(
  source: PlantReader,
  store: PlantStore,
  { missing, matched, last }: Comparison,
  onPlants: (done: number) => void,
): Promise<void> {
  // If nothing is missing, the last plant is created again: a crash may have left it visible but
  // not replicated. It is safe once a later commit is confirmed.
  let done = missing === undefined ? matched - 1 : matched;
  for await (const page of readPages(source, { from: missing ?? last })) {
    await Promise.all(page.map((plant) => store.create(plant).catch((e) => fail(plant, e))));
    done += page.length;
    onPlants(done);
  }
}

function fail({ id }: NewPlant, error: unknown): never {
  if (!(error instanceof PlantError)) throw error;
  const { code, message, cause } = error;
  if (code === "id_taken") throw conflict(id);
  const reason = cause instanceof Error ? cause.message : message;
  const problem =
    code === "invalid"
      ? `plant ${id} of the source cannot be stored: ${message}; fix it there`
      : `the target did not confirm plant ${id} (${reason}); copied plants remain, run the same command again`;
  throw new StoreError(problem);
}

function assertSame(wanted: NewPlant | undefined, plant: NewPlant): void {
  const { id } = plant;
  if (wanted?.id !== id) {
    const problem = `the target holds plant ${id}, which the source does not have; copy to an empty store, or to one that has only plants of this source`;
    throw new StoreError(problem);
  }
  if (!isSamePlant(wanted, plant)) throw conflict(id);
}

function conflict(id: bigint): StoreError {
  const problem = `plant ${id} is another plant in the target, with another ${textFields.join(" or ")}; nothing was overwritten`;
  return new StoreError(problem);
}

async function* plantsOf(reader: PlantReader): AsyncGenerator<NewPlant, undefined> {
  for await (const page of readPages(reader)) yield* page;
}
