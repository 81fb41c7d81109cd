import { type NewPlant, PlantError, type PlantStore } from "../plant.ts";
import { type Comparison, compareStores } from "./compare.ts";
import { CopyError, conflict } from "./copy-error.ts";
import { openPlantReader, openStore } from "./open.ts";
import { type PlantReader, readPages } from "./plant-reader.ts";

/** `comparing` what the target holds already, `copying` the rest, `verifying` all of it. */
export type CopyPhase = "comparing" | "copying" | "verifying";

/** Told after each page. */
export type OnCopyProgress = (phase: CopyPhase, done: number, total: number) => void;

export interface CopyResult {
  /** In the source, and now in the target. */
  readonly plants: number;
  /** Of these, how many the target held before. */
  readonly heldBefore: number;
}

/**
 * Copies the plants that a store holds now into another, which may hold some of
 * them already: what a copy that was killed has left, above all. In the order
 * of the ids, so that a second copy goes on where the first ended.
 *
 * Before the first plant is written, all that the target holds is compared;
 * afterwards both stores are, row by row. Nothing is ever overwritten: the
 * target is written through its PlantStore.
 *
 * @throws {CopyError} {@link StoreOpenError} {@link StoreReadError}
 */
export async function copyPlants(
  { from, to }: { readonly from: string; readonly to: string },
  onProgress: OnCopyProgress,
): Promise<CopyResult> {
  const source = await openPlantReader(from);
  try {
    const store = await openStore(to);
    // Closed after the target's readers: only who may write an SQLite file can put its log away.
    try {
      const held = await compare(source, to, "comparing", onProgress);
      await write(source, store, held, (done) => onProgress("copying", done, source.count));
      const { missing } = await compare(source, to, "verifying", onProgress);
      if (missing !== undefined) {
        throw new CopyError(
          "missing",
          `the target lacks plant ${missing}: somebody deletes plants there`,
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

/** The target's reader is open no longer than this: the log of an SQLite target grows meanwhile. */
async function compare(
  source: PlantReader,
  to: string,
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
  // If nothing is missing, the last plant is created again: what a crash has left
  // visible and not yet replicated is safe once a later commit is confirmed.
  const from = missing ?? last;
  if (from === undefined) return;
  let done = missing === undefined ? matched - 1 : matched;
  for await (const page of readPages(source, { from })) {
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

function copyError({ id }: NewPlant, cause: PlantError): CopyError {
  switch (cause.code) {
    case "id_taken":
      return conflict(id, { cause });
    case "invalid":
      return new CopyError(
        "invalid",
        `plant ${id} of the source cannot be kept: ${cause.message}; mend it there`,
        { cause },
      );
    case "overloaded":
    case "unavailable":
      return new CopyError(
        "unconfirmed",
        `the target did not confirm plant ${id}; what was copied stays, run the same command again`,
        { cause },
      );
  }
}
