import { type NewPlant, type Obstacle, obstacles, type Plant } from "../../src/plant.ts";
import type { Engine, RowOutcome } from "../../src/store/engine.ts";

/** An engine that stores plants in a map and can be made to fail. */
export class MemoryEngine implements Engine {
  readonly plants: Map<bigint, Plant>;
  readonly commits: (readonly NewPlant[])[] = [];
  /** Runs before the next commit writes. If it throws, the commit fails. */
  before: () => void | Promise<void> = () => {};
  /** Runs after the next commit wrote. If it throws, the commit fails although it persisted. */
  after: () => void | Promise<void> = () => {};
  /** Runs during an inspection or a probe, which fails if it throws. */
  inspected: () => void | Promise<void> = () => {};
  probed: () => void | Promise<void> = () => {};
  probes = 0;
  knows: Obstacle | undefined;
  closed = 0;
  readonly commitsMax = 1;
  readonly commitsAhead = 0;
  readonly mergesCommits = false;

  constructor(plants: Map<bigint, Plant> = new Map()) {
    this.plants = plants;
  }

  partOf(): string {
    return "";
  }

  async commit(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    this.commits.push(batch);
    await this.before();
    const outcomes = batch.map((plant) => this.#write(plant));
    await this.after();
    return outcomes;
  }

  async inspect(): Promise<void> {
    await this.inspected();
  }

  async probe(): Promise<void> {
    this.probes++;
    await this.probed();
  }

  obstacle(): Obstacle | undefined {
    return this.knows;
  }

  /** The message of the error is the name of the obstacle. */
  obstacleFrom(error: unknown): Obstacle {
    const { message } = error as Error;
    return obstacles.find((obstacle) => obstacle === message) ?? "unwritable";
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
