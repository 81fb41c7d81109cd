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
import type { Backing } from "./backing.ts";
import type { CommitObserver } from "./commit-observer.ts";
import type { Commits } from "./commits.ts";
import type { BatchEngine } from "./engine.ts";
import { GroupCommit } from "./group-commit.ts";
import type { CommitLimits } from "./options.ts";
import { type OnObstacle, type WatchTimes, WriteWatch } from "./write-watch.ts";

/** Keeps the PlantStore promise on top of any {@link Commits}. */
export class BatchedStore implements PlantStore {
  readonly #commits: Commits;
  readonly #backing: Backing;
  #closed: Promise<void> | undefined;

  constructor(commits: Commits, backing: Backing) {
    this.#commits = commits;
    this.#backing = backing;
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    // Otherwise an engine might silently change an invalid plant into a different one.
    assertValidPlant(plant);
    if (this.#closed !== undefined) throw new PlantError("unavailable", "the store is closed");
    const refusal = this.#backing.refusal?.();
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
    return this.#closed === undefined ? this.#backing.obstacle() : "closed";
  }

  /**
   * Waits for the disk without a time limit: giving up here would leave creates without an answer.
   * The event loop stays free, so the owner can set its own limit.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#backing.stop?.(), this.#commits.drain()]).then(() =>
      this.#backing.close(),
    );
    return this.#closed;
  }
}

export interface BatchedStoreOptions {
  readonly observer?: CommitObserver | undefined;
  readonly onObstacle?: OnObstacle | undefined;
  readonly watchTimes?: WatchTimes;
}

/** @returns A PlantStore that commits through the given engine. */
export function createBatchedStore(
  engine: BatchEngine,
  limits: CommitLimits,
  { observer, onObstacle, watchTimes }: BatchedStoreOptions = {},
): BatchedStore {
  const watch = new WriteWatch(engine, onObstacle, watchTimes);
  const watched: Pick<BatchEngine, "commit" | "commitsMax"> = {
    commitsMax: engine.commitsMax,
    async commit(batch, abandoned) {
      try {
        const outcomes = await engine.commit(batch, abandoned);
        watch.commitSucceeded();
        return outcomes;
      } catch (error) {
        watch.commitFailed(error);
        throw error;
      }
    },
  };
  return new BatchedStore(new GroupCommit(watched, limits, observer), watch);
}
