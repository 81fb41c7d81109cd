import { isSamePlant, type NewPlant, PlantError, type PlantStore, textFields } from "../plant.ts";
import { openPlantReader, openStore, type StoreLocation } from "./open.ts";
import { StoreError } from "./open-error.ts";
import { type PlantReader, readPages } from "./plant-reader.ts";

/** `comparing` what the target already holds, `copying` the rest, `verifying` everything. */
export type CopyPhase = "comparing" | "copying" | "verifying";

export type OnCopyProgress = (phase: CopyPhase, done: number, total: number) => void;

export interface CopyResult {
  readonly plants: number;
  /** How many of them the target already held. */
  readonly heldBefore: number;
}

/**
 * Copies the plants that a store holds now into another store, in the order of their ids. The
 * target may hold some of them already, after a copy that was killed. Both are compared row by row,
 * before and after. Nothing is overwritten: the target is written through its PlantStore.
 * @throws {StoreError}
 */
export async function copyPlants(
  { from, to }: Readonly<Record<"from" | "to", StoreLocation>>,
  onProgress: OnCopyProgress,
): Promise<CopyResult> {
  const source = await openPlantReader(from);
  try {
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
        throw new StoreError(
          `plant ${missing} is missing in the target: something deletes plants there`,
        );
      }
      return { plants: source.count, heldBefore: held.count };
    } finally {
      await store.close();
    }
  } finally {
    await source.close();
  }
}

/** Opens the target's reader for the comparison alone: it makes an SQLite target's log grow. */
async function compare(
  source: PlantReader,
  to: StoreLocation,
  phase: CopyPhase,
  onProgress: OnCopyProgress,
): Promise<Comparison & { readonly count: number }> {
  const target = await openPlantReader(to);
  try {
    const { count } = target;
    const report = (done: number) => onProgress(phase, done, count);
    return { ...(await compareStores(source, target, report)), count };
  } finally {
    await target.close();
  }
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
    await Promise.all(page.map((plant) => create(store, plant)));
    done += page.length;
    onPlants(done);
  }
}

async function create(store: PlantStore, plant: NewPlant): Promise<void> {
  try {
    await store.create(plant);
  } catch (error) {
    throw error instanceof PlantError ? copyError(plant, error) : error;
  }
}

function copyError({ id }: NewPlant, { code, message, cause }: PlantError): StoreError {
  switch (code) {
    case "id_taken":
      return conflict(id);
    case "invalid":
      return new StoreError(`plant ${id} of the source cannot be stored: ${message}; fix it there`);
    case "overloaded":
    case "unavailable": {
      const reason = cause instanceof Error ? cause.message : message;
      return new StoreError(
        `the target did not confirm plant ${id} (${reason}); copied plants remain, run the same command again`,
      );
    }
  }
}

export interface Comparison {
  /** The first plant in the source that the target lacks. */
  readonly missing: bigint | undefined;
  /** How many plants of the source precede it. The target has all of them. */
  readonly matched: number;
  /** The last plant that both have. */
  readonly last: bigint | undefined;
}

/**
 * Compares every plant in the target with the source, in the order of the ids.
 * @param onPlants Called with the number of plants in the target that have been compared.
 * @throws {StoreError}
 */
export async function compareStores(
  source: PlantReader,
  target: PlantReader,
  onPlants: (done: number) => void,
): Promise<Comparison> {
  const plants = plantsOf(source);
  let { value: wanted } = await plants.next();
  let missing: bigint | undefined;
  let matched = 0;
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
    onPlants(done);
  }
  return { missing: missing ?? wanted?.id, matched, last };
}

function assertSame(wanted: NewPlant | undefined, plant: NewPlant): void {
  const { id } = plant;
  if (wanted?.id !== id) {
    throw new StoreError(
      `the target holds plant ${id}, which the source does not have; copy to an empty store, or to one that has only plants of this source`,
    );
  }
  if (!isSamePlant(wanted, plant)) throw conflict(id);
}

export function conflict(id: bigint): StoreError {
  return new StoreError(
    `plant ${id} is another plant in the target, with another ${textFields.join(" or ")}; nothing was overwritten`,
  );
}

async function* plantsOf(reader: PlantReader): AsyncGenerator<NewPlant, undefined> {
  for await (const page of readPages(reader)) yield* page;
}
