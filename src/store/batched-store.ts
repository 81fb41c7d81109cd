import {
  assertValidPlant,
  type Cancellation,
  type NewPlant,
  type Obstacle,
  type Plant,
  PlantError,
  type PlantStore,
  textFields,
  withoutId,
} from "../plant.ts";
import type { Engine } from "./engine.ts";
import { GroupCommit } from "./group-commit.ts";
import { defaultLimits, type StoreOptions } from "./options.ts";
import { type WatchTimes, WriteWatch } from "./write-watch.ts";

/** Keeps the PlantStore promise on top of any {@link Engine}. */
export class BatchedStore implements PlantStore {
  readonly #engine: Engine;
  readonly #watch: WriteWatch;
  readonly #commits: GroupCommit;
  #closed: Promise<void> | undefined;

  constructor(engine: Engine, options: StoreOptions = {}, watchTimes?: WatchTimes) {
    const { observer, onObstacle } = options;
    const limits = { ...defaultLimits, ...options.limits };
    this.#engine = engine;
    this.#watch = new WriteWatch(engine, onObstacle, watchTimes);
    this.#commits = new GroupCommit(engine, limits, { watch: this.#watch, observer });
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    // Otherwise an engine might silently change an invalid plant into a different one.
    assertValidPlant(plant);
    if (this.#closed !== undefined) throw new PlantError("unavailable", "the store is closed");
    const refusal = this.#watch.refusal();
    if (refusal !== undefined) {
      const { cause } = refusal;
      throw new PlantError("unavailable", "the store does not accept plants now; try again later", {
        cause,
      });
    }
    const outcome = await this.#commits.submit(plant, signal);
    if (outcome === "id_taken") {
      throw new PlantError(
        "id_taken",
        `another plant has this id (choose another id or repeat its ${textFields.join(" and ")})`,
        { field: "id" },
      );
    }
    return withoutId(plant);
  }

  isFull(): boolean {
    return this.#commits.isFull();
  }

  obstacle(): Obstacle | undefined {
    return this.#closed === undefined ? this.#watch.obstacle() : "closed";
  }

  /**
   * Waits until callers have their answers. A commit or check that nobody waits for is cut off where
   * the engine can do so: a database that hangs would hold up the end of the process.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#watch.stop();
    await this.#commits.drain();
    await this.#engine.close();
  }
}
