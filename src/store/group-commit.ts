import { setImmediate as nextTurn } from "node:timers/promises";
import { type NewPlant, PlantError } from "../plant.ts";
import type { Engine, RowOutcome } from "./engine.ts";
import type { CommitLimits } from "./options.ts";

/**
 * Makes plants share commits: all that arrive while as many commits are under
 * way as the engine takes go into the next, up to the limits, in order of arrival.
 */
export class GroupCommit {
  readonly #engine: Pick<Engine, "commit" | "commitsMax">;
  readonly #limits: CommitLimits;
  // A set, because a caller that gives up leaves from anywhere in the queue.
  readonly #waiting = new Set<Waiter>();
  #waitingBytes = 0;
  #gathering: Promise<void> | undefined;
  readonly #underWay = new Set<Promise<void>>();

  constructor(engine: Pick<Engine, "commit" | "commitsMax">, limits: CommitLimits) {
    this.#engine = engine;
    this.#limits = limits;
  }

  /**
   * @param signal Takes a plant that waits out of the queue: it is not written.
   * Once its commit is under way, only the caller leaves.
   * @returns The outcome of this plant, once its commit has returned.
   * @throws The reason of the signal, at once; a {@link PlantError}
   * `overloaded`, at once; or `unavailable`, when the commit failed.
   */
  submit(plant: NewPlant, signal?: AbortSignal): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const bytes = heapBytes(plant);
    if (!this.#hasRoomFor(bytes)) {
      return Promise.reject(
        new PlantError("overloaded", "the store has too much work waiting; try again later"),
      );
    }
    return new Promise((resolve, reject) => {
      const waiter = new Waiter(plant, bytes, resolve, reject);
      if (signal !== undefined) {
        waiter.onLeave = () => {
          if (this.#waiting.delete(waiter)) this.#waitingBytes -= bytes;
        };
        waiter.watch(signal);
      }
      this.#waiting.add(waiter);
      this.#waitingBytes += bytes;
      this.#gather();
    });
  }

  /** Resolves when nothing waits and no commit is under way. */
  async drain(): Promise<void> {
    while (this.#gathering !== undefined || this.#underWay.size > 0) {
      await Promise.all([this.#gathering, ...this.#underWay]);
    }
  }

  #hasRoomFor(bytes: number): boolean {
    return (
      this.#waiting.size < this.#limits.waitingRowsMax &&
      this.#waitingBytes + bytes <= this.#limits.waitingBytesMax
    );
  }

  /** Begins a commit with all that waits, unless enough of them are under way. */
  #gather(): void {
    if (this.#waiting.size === 0 || this.#gathering !== undefined) return;
    if (this.#underWay.size >= this.#engine.commitsMax) return;
    // What arrives in the same turn of the event loop shares the commit, too:
    // without this the first of a burst would go alone and all others wait.
    this.#gathering = nextTurn().then(() => {
      this.#gathering = undefined;
      const batch = this.#takeBatch();
      if (batch.length > 0) this.#begin(batch);
      this.#gather();
    });
  }

  #begin(batch: readonly Waiter[]): void {
    const commit = this.#commitBatch(batch).then(() => {
      this.#underWay.delete(commit);
      this.#gather();
    });
    this.#underWay.add(commit);
  }

  #takeBatch(): readonly Waiter[] {
    const batch: Waiter[] = [];
    let bytes = 0;
    for (const waiter of this.#waiting) {
      if (batch.length === this.#limits.batchRowsMax) break;
      if (batch.length > 0 && bytes + waiter.bytes > this.#limits.batchBytesMax) break;
      batch.push(waiter);
      bytes += waiter.bytes;
      this.#waiting.delete(waiter);
    }
    this.#waitingBytes -= bytes;
    return batch;
  }

  async #commitBatch(batch: readonly Waiter[]): Promise<void> {
    const abandoned = new AbortController();
    let left = batch.length;
    for (const waiter of batch) {
      waiter.onLeave = () => {
        if (--left === 0) abandoned.abort();
      };
    }
    try {
      const plants = batch.map((waiter) => waiter.plant);
      const outcomes = await this.#engine.commit(plants, abandoned.signal);
      if (outcomes.length !== batch.length) {
        throw new Error(`a commit of ${batch.length} rows had ${outcomes.length} outcomes`);
      }
      for (const [index, outcome] of outcomes.entries()) batch[index]?.resolve(outcome);
    } catch (cause) {
      for (const waiter of batch) {
        waiter.reject(
          new PlantError(
            "unavailable",
            "the store could not confirm that the plant was written; try again",
            { cause },
          ),
        );
      }
    }
  }
}

/** One caller: what it wants stored, and how it hears of it. */
class Waiter {
  readonly plant: NewPlant;
  readonly bytes: number;
  /** Called when its signal aborts. */
  onLeave: () => void = () => {};
  readonly #resolve: (outcome: RowOutcome) => void;
  readonly #reject: (reason: unknown) => void;
  #unwatch: (() => void) | undefined;

  constructor(
    plant: NewPlant,
    bytes: number,
    resolve: (outcome: RowOutcome) => void,
    reject: (reason: unknown) => void,
  ) {
    this.plant = plant;
    this.bytes = bytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  watch(signal: AbortSignal): void {
    const onAbort = () => {
      this.onLeave();
      this.reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#unwatch = () => signal.removeEventListener("abort", onAbort);
  }

  resolve(outcome: RowOutcome): void {
    this.#unwatch?.();
    this.#resolve(outcome);
  }

  reject(reason: unknown): void {
    this.#unwatch?.();
    this.#reject(reason);
  }
}

/**
 * What a waiting plant may hold of the heap, in bytes: two for a UTF-16 code
 * unit, and the objects around it. An upper bound, so that the limits hold.
 */
export function heapBytes(plant: NewPlant): number {
  return 512 + 2 * (plant.name.length + (plant.tag?.length ?? 0));
}
