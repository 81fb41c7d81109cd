import { assertValidPlant, PlantError, type PlantStore, textFields, withoutId } from "../plant.ts";
import type { Engine } from "./engine.ts";
import { createGroupCommit } from "./group-commit.ts";
import { defaultLimits, type StoreOptions } from "./options.ts";
import { createWriteWatch, type WatchTimes } from "./write-watch.ts";

/** Keeps the PlantStore promise on top of any {@link Engine}. */
export function createBatchedStore(
  engine: Engine,
  options: StoreOptions = {},
  watchTimes?: WatchTimes,
): PlantStore {
  const { observer, onObstacle } = options;
  const watch = createWriteWatch(engine, onObstacle, watchTimes);
  const limits = { ...defaultLimits, ...options.limits };
  const commits = createGroupCommit(engine, limits, { watch, observer });
  let closed: Promise<void> | undefined;

  /**
   * Waits until callers have their answers. A commit or check that nobody waits for is cut off where
   * the engine can do so: a database that hangs would hold up the end of the process.
   */
  async function close(): Promise<void> {
    watch.stop();
    await commits.drain();
    await engine.close();
  }

  return {
    async create(plant, signal) {
      // Otherwise an engine might silently change an invalid plant into a different one.
      assertValidPlant(plant);
      if (closed !== undefined) throw new PlantError("unavailable", "the store is closed");
      const refusal = watch.refusal();
      if (refusal !== undefined) {
        const problem = "the store does not accept plants now; try again later";
        throw new PlantError("unavailable", problem, refusal);
      }
      if ((await commits.submit(plant, signal)) === "created") return withoutId(plant);
      throw new PlantError("id_taken", idTaken, { field: "id" });
    },
    isFull: commits.isFull,
    obstacle: () => (closed === undefined ? watch.obstacle() : "closed"),
    close: () => (closed ??= close()),
  };
}

const idTaken = `another plant has this id (choose another id or repeat its ${textFields.join(" and ")})`;
