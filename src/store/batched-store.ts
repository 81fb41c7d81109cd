import {
  assertValidPlant,
  type Cancellation,
  type NewPlant,
  type Obstacle,
  type Plant,
  PlantError,
  type PlantStore,
  withoutId,
} from "../plant.ts";
import type { CommitObserver } from "./commit-observer.ts";
import type { Engine } from "./engine.ts";
import { GroupCommit } from "./group-commit.ts";
import type { CommitLimits } from "./options.ts";
import { type OnObstacle, type WatchTimes, WriteWatch } from "./write-watch.ts";

export interface BatchedStoreOptions {
  readonly observer?: CommitObserver | undefined;
  readonly onObstacle?: OnObstacle | undefined;
  readonly watchTimes?: WatchTimes;
}

/** The PlantStore promise over any engine. */
export class BatchedStore implements PlantStore {
  readonly #engine: Engine;
  readonly #commits: GroupCommit;
  readonly #watch: WriteWatch;
  #closed: Promise<void> | undefined;

  constructor(
    engine: Engine,
    limits: CommitLimits,
    { observer, onObstacle, watchTimes }: BatchedStoreOptions = {},
  ) {
    const watch = new WriteWatch(engine, onObstacle, watchTimes);
    const watched = {
      commitsMax: engine.commitsMax,
      commitsAhead: engine.commitsAhead,
      commit: (batch: readonly NewPlant[], abandoned: AbortSignal) =>
        watch.watch(() => engine.commit(batch, abandoned)),
    };
    this.#engine = engine;
    this.#watch = watch;
    this.#commits = new GroupCommit(watched, limits, observer);
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    // An engine would bend an invalid plant into another one without a word.
    assertValidPlant(plant);
    if (this.#closed !== undefined) throw new PlantError("unavailable", "the store is closed");
    if (this.#watch.refusal !== undefined) {
      const { cause } = this.#watch.refusal;
      throw new PlantError("unavailable", "the store takes no plants now; try again later", {
        cause,
      });
    }
    const outcome = await this.#commits.submit(plant, signal);
    if (outcome === "id_taken") {
      throw new PlantError(
        "id_taken",
        `another plant has the id ${plant.id} (choose another id or repeat its name and tag)`,
        { field: "id" },
      );
    }
    return withoutId(plant);
  }

  isFull(): boolean {
    return this.#commits.isFull();
  }

  obstacle(): Obstacle | undefined {
    if (this.#closed !== undefined) return "closed";
    return this.#watch.obstacle ?? this.#engine.obstacle();
  }

  /**
   * Waits for the disk as long as the disk takes: to give up here would leave
   * creates without an answer. The event loop is free meanwhile, so that the
   * owner can set a limit of its own.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#watch.close(), this.#commits.drain()]).then(() =>
      this.#engine.close(),
    );
    return this.#closed;
  }
}
