import {
  assertValidPlant,
  type Cancellation,
  type NewPlant,
  type Plant,
  PlantError,
  type PlantStore,
  withoutId,
} from "../plant.ts";
import type { CommitObserver } from "./commit-observer.ts";
import type { Engine } from "./engine.ts";
import { GroupCommit } from "./group-commit.ts";
import type { CommitLimits } from "./options.ts";

/** The PlantStore promise over any engine. */
export class BatchedStore implements PlantStore {
  readonly #engine: Engine;
  readonly #commits: GroupCommit;
  #closed: Promise<void> | undefined;

  constructor(engine: Engine, limits: CommitLimits, observer?: CommitObserver) {
    this.#engine = engine;
    this.#commits = new GroupCommit(engine, limits, observer);
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    // An engine would bend an invalid plant into another one without a word.
    assertValidPlant(plant);
    if (this.#closed !== undefined) throw new PlantError("unavailable", "the store is closed");
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

  ready(): boolean {
    return this.#closed === undefined && this.#engine.ready();
  }

  /**
   * Waits for the disk as long as the disk takes: to give up here would leave
   * creates without an answer. The event loop is free meanwhile, so that the
   * owner can set a limit of its own.
   */
  close(): Promise<void> {
    this.#closed ??= this.#commits.drain().then(() => this.#engine.close());
    return this.#closed;
  }
}
