import {
  isSamePlant,
  type NewPlant,
  type Obstacle,
  obstacles,
  type Plant,
  withoutId,
} from "../../src/plant.ts";
import type { Engine, RowOutcome } from "../../src/store/engine.ts";

type Hook = () => void | Promise<void>;

/** An engine that stores plants in a map and can be made to fail, by hooks that throw. */
export class MemoryEngine implements Engine {
  readonly plants = new Map<bigint, Plant>();
  readonly commits: (readonly NewPlant[])[] = [];
  /** Runs before the next commit writes. */
  before: Hook = () => {};
  inspect = async () => this.inspected();
  inspected: Hook = () => {};
  probed: Hook = () => {};
  probes = 0;
  knows: Obstacle | undefined;
  readonly commitsMax = 1;
  readonly commitsAhead = 0;
  readonly mergesCommits = false;
  readonly partOf = () => "";
  readonly isOfRow = () => false;
  readonly obstacle = () => this.knows;

  async commit(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    this.commits.push(batch);
    await this.before();
    return batch.map((plant): RowOutcome => {
      const first = this.plants.get(plant.id) ?? withoutId(plant);
      this.plants.set(plant.id, first);
      return isSamePlant(first, plant) ? "created" : "id_taken";
    });
  }

  async probe(): Promise<void> {
    this.probes++;
    await this.probed();
  }

  /** The message of the error is the name of the obstacle. */
  obstacleFrom(error: unknown): Obstacle {
    const { message } = error as Error;
    return obstacles.find((obstacle) => obstacle === message) ?? "unwritable";
  }

  async close() {}
}
