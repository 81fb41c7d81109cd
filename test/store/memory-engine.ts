import type { NewPlant, Plant } from "../../src/plant.ts";
import type { Engine, RowOutcome } from "../../src/store/engine.ts";

/** An engine that keeps plants in a map, and can be told how to go wrong. */
export class MemoryEngine implements Engine {
  readonly plants: Map<bigint, Plant>;
  readonly commits: (readonly NewPlant[])[] = [];
  /** Runs before the next commit writes; what it throws makes the commit fail. */
  before: () => void | Promise<void> = () => {};
  /** Runs after the next commit wrote; what it throws makes the commit fail, though it persisted. */
  after: () => void | Promise<void> = () => {};
  closed = 0;
  readonly commitsMax = 1;
  readonly commitsAhead = 0;

  constructor(plants: Map<bigint, Plant> = new Map()) {
    this.plants = plants;
  }

  async commit(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    this.commits.push(batch);
    await this.before();
    const outcomes = batch.map((plant) => this.#write(plant));
    await this.after();
    return outcomes;
  }

  ready(): boolean {
    return this.closed === 0;
  }

  async close(): Promise<void> {
    this.closed++;
  }

  #write({ id, name, tag }: NewPlant): RowOutcome {
    const first = this.plants.get(id) ?? { name, tag };
    this.plants.set(id, first);
    return first.name === name && first.tag === tag ? "created" : "id_taken";
  }
}
