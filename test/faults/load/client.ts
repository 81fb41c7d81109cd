import type { TestPlant } from "../history/history.ts";
import type { Recorder } from "../history/recorder.ts";
import { createRandom, type Random } from "../random.ts";
import type { Caller } from "./caller.ts";
import { ownIds, randomPlant } from "./plants.ts";

export interface ClientOptions {
  readonly seed: number;
  readonly recorder: Recorder;
  /** Shortest and longest deadline of a request. */
  readonly deadlinesMs: readonly [number, number];
}

export function createClients(count: number, options: ClientOptions): readonly LoadClient[] {
  return Array.from({ length: count }, (_, index) => new LoadClient(index, options));
}

/** Enough old plants to request again. */
const rememberedMax = 50;

/**
 * A client that stores its own plants and retries until it knows the outcome of each. Sometimes it
 * repeats an old one, or requests another plant with one of its own ids.
 */
export class LoadClient {
  readonly #name: string;
  readonly #random: Random;
  readonly #takeId: () => bigint;
  readonly #recorder: Recorder;
  readonly #deadlinesMs: readonly [number, number];
  readonly #remembered: TestPlant[] = [];
  #pending: TestPlant | undefined;

  constructor(index: number, { seed, recorder, deadlinesMs }: ClientOptions) {
    this.#name = `client ${index}`;
    this.#random = createRandom(seed, this.#name);
    this.#takeId = ownIds(index);
    this.#recorder = recorder;
    this.#deadlinesMs = deadlinesMs;
  }

  /** Whether the outcome of a plant is still unknown. */
  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** One request, over any of the callers. @returns whether a plant is known to be stored. */
  async step(callers: readonly Caller[]): Promise<boolean> {
    const plant = this.#pending ?? this.#choose();
    const deadlineMs = this.#random.int(...this.#deadlinesMs);
    const caller = this.#random.pick(callers);
    const { kind } = await this.#recorder.request({ client: this.#name, plant, deadlineMs }, () =>
      caller.create(plant, deadlineMs),
    );
    this.#pending = kind === "unknown" ? plant : undefined;
    if (kind === "stored") this.#remember(plant);
    return kind === "stored";
  }

  #choose(): TestPlant {
    if (this.#remembered.length === 0 || this.#random.chance(0.8)) {
      return randomPlant(this.#takeId(), this.#random);
    }
    const old = this.#random.pick(this.#remembered);
    return this.#random.chance(0.5) ? old : { ...old, name: `${old.name}!` };
  }

  #remember(plant: TestPlant): void {
    this.#remembered.push(plant);
    if (this.#remembered.length > rememberedMax) this.#remembered.shift();
  }
}
