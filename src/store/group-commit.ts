import { setImmediate as nextTurn } from "node:timers/promises";
import { type NewPlant, PlantError } from "../plant.ts";
import type { Engine, RowOutcome } from "./engine.ts";
import type { CommitLimits } from "./options.ts";

/**
 * Makes plants share commits: all that arrive while one commit is under way go
 * into the next, up to the limits, in order of arrival.
 */
export class GroupCommit {
  readonly #commit: Engine["commit"];
  readonly #limits: CommitLimits;
  // A set, because a caller that gives up leaves from anywhere in the queue.
  readonly #waiting = new Set<Waiter>();
  #waitingBytes = 0;
  #running: Promise<void> | undefined;

  constructor(commit: Engine["commit"], limits: CommitLimits) {
    this.#commit = commit;
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
        waiter.watch(signal, () => {
          if (this.#waiting.delete(waiter)) this.#waitingBytes -= bytes;
        });
      }
      this.#waiting.add(waiter);
      this.#waitingBytes += bytes;
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits and no commit is under way. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #hasRoomFor(bytes: number): boolean {
    return (
      this.#waiting.size < this.#limits.waitingRowsMax &&
      this.#waitingBytes + bytes <= this.#limits.waitingBytesMax
    );
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      // What arrives in the same turn of the event loop shares the commit, too:
      // without this the first of a burst would go alone and all others wait.
      await nextTurn();
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#commitBatch(batch);
    }
    this.#running = undefined;
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
    try {
      const outcomes = await this.#commit(batch.map((waiter) => waiter.plant));
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

  watch(signal: AbortSignal, leave: () => void): void {
    const onAbort = () => {
      leave();
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
