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

/** The PlantStore promise over any commits. */
export class BatchedStore implements PlantStore {
  readonly #commits: Commits;
  readonly #backing: Backing;
  #closed: Promise<void> | undefined;

  constructor(commits: Commits, backing: Backing) {
    this.#commits = commits;
    this.#backing = backing;
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    // An engine would bend an invalid plant into another one without a word.
    assertValidPlant(plant);
    if (this.#closed !== undefined) throw new PlantError("unavailable", "the store is closed");
    const refusal = this.#backing.refusal?.();
    if (refusal !== undefined) {
      const { cause } = refusal;
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
    return this.#closed === undefined ? this.#backing.obstacle() : "closed";
  }

  /**
   * Waits for the disk as long as the disk takes: to give up here would leave
   * creates without an answer. The event loop is free meanwhile, so that the
   * owner can set a limit of its own.
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

/** @returns The PlantStore promise over an engine that is given its commits. */
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
