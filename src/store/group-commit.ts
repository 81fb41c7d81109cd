import { type Cancellation, type NewPlant, overloaded, PlantError, textFields } from "../plant.ts";
import type { CommitObserver } from "./commit-observer.ts";
import type { Engine, RowOutcome } from "./engine.ts";
import type { CommitLimits } from "./options.ts";
import { Waiter } from "./waiter.ts";

/** As many rows make a commit worth its while. */
const rowsAtOnce = 32;

/**
 * Makes plants share commits: all that arrive while as many commits are under
 * way as the engine runs go into the next, up to the limits, in order of arrival.
 * One that is worth its while begins at once, in line where the engine takes it,
 * and is written while the rest of a burst is still being read.
 */
export class GroupCommit {
  readonly #engine: Pick<Engine, "commit" | "commitsMax" | "commitsAhead">;
  readonly #limits: CommitLimits;
  readonly #observer: CommitObserver | undefined;
  /** In order of arrival; those that have left stay until their turn comes, or are half of all. */
  #queue: Waiter[] = [];
  #waitingRows = 0;
  #waitingBytes = 0;
  #isGathering = false;
  #underWay = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(
    engine: Pick<Engine, "commit" | "commitsMax" | "commitsAhead">,
    limits: CommitLimits,
    observer?: CommitObserver,
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#observer = observer;
  }

  /**
   * @param signal Takes a plant that waits out of the queue: it is not written.
   * Once its commit is under way, only the caller leaves.
   * @returns The outcome of this plant, once its commit has returned.
   * @throws The reason of the signal, at once; a {@link PlantError}
   * `overloaded`, at once; or `unavailable`, when the commit failed.
   */
  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const bytes = heapBytes(plant);
    if (!this.#hasRoomFor(bytes)) {
      return Promise.reject(overloaded());
    }
    const waiter = new Waiter(plant, bytes, this.#remove, signal);
    this.#queue.push(waiter);
    this.#changeQueue(1, bytes);
    this.#gather();
    return waiter.outcome;
  }

  /** Whether not even the smallest plant would be taken now. */
  isFull(): boolean {
    return !this.#hasRoomFor(heapBytesMin);
  }

  /** Resolves when nothing waits and no commit is under way. */
  async drain(): Promise<void> {
    if (this.#underWay === 0 && !this.#isGathering) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  #hasRoomFor(bytes: number): boolean {
    return (
      this.#waitingRows < this.#limits.waitingRowsMax &&
      this.#waitingBytes + bytes <= this.#limits.waitingBytesMax
    );
  }

  /** Begins commits with all that waits, unless enough of them are under way; ends a drain. */
  #gather(): void {
    const { commitsMax, commitsAhead } = this.#engine;
    while (this.#isWorthwhile() && this.#underWay < commitsMax + commitsAhead) this.#begin();
    if (this.#isGathering) return;
    if (this.#mayBegin()) {
      // What arrives in the same turn of the event loop shares the commit, too:
      // without this the first of a burst would go alone and all others wait.
      this.#isGathering = true;
      setImmediate(() => {
        this.#isGathering = false;
        if (this.#mayBegin()) this.#begin();
        this.#gather();
      });
    } else if (this.#underWay === 0) {
      this.#drained?.resolve();
      this.#drained = undefined;
    }
  }

  /** Whether the next commit is full, or nearly enough. */
  #isWorthwhile(): boolean {
    const { batchRowsMax, batchBytesMax } = this.#limits;
    return (
      this.#waitingRows >= Math.min(rowsAtOnce, batchRowsMax) || this.#waitingBytes >= batchBytesMax
    );
  }

  #mayBegin(): boolean {
    return this.#waitingRows > 0 && this.#underWay < this.#engine.commitsMax;
  }

  #begin(): void {
    const batch = this.#takeBatch();
    this.#underWay++;
    void this.#commitBatch(batch).then(() => {
      this.#underWay--;
      this.#gather();
    });
  }

  /** Takes a waiter out whose caller has given up: its plant is not written. */
  readonly #remove = (waiter: Waiter): void => {
    waiter.plant = undefined;
    this.#changeQueue(-1, -waiter.bytes);
    if (this.#queue.length > 2 * this.#waitingRows) {
      this.#queue = this.#queue.filter(({ plant }) => plant !== undefined);
    }
  };

  #takeBatch(): readonly Waiter[] {
    const batch: Waiter[] = [];
    let bytes = 0;
    let taken = 0;
    for (const waiter of this.#queue) {
      if (batch.length === this.#limits.batchRowsMax) break;
      if (batch.length > 0 && bytes + waiter.bytes > this.#limits.batchBytesMax) break;
      taken++;
      if (waiter.plant === undefined) continue;
      batch.push(waiter);
      bytes += waiter.bytes;
    }
    this.#queue = this.#queue.slice(taken);
    this.#changeQueue(-batch.length, -bytes);
    return batch;
  }

  #changeQueue(rows: number, bytes: number): void {
    this.#waitingRows += rows;
    this.#waitingBytes += bytes;
    this.#observer?.queueChanged(this.#waitingRows, this.#waitingBytes);
  }

  async #commitBatch(batch: readonly Waiter[]): Promise<void> {
    const abandoned = new AbortController();
    let left = batch.length;
    const onLeave = () => {
      if (--left === 0) abandoned.abort();
    };
    const plants: NewPlant[] = [];
    for (const waiter of batch) {
      waiter.onLeave = onLeave;
      if (waiter.plant !== undefined) plants.push(waiter.plant);
    }
    try {
      const outcomes = await this.#observed(plants, abandoned.signal);
      if (outcomes.length !== batch.length) {
        throw new Error(`a commit of ${batch.length} rows had ${outcomes.length} outcomes`);
      }
      let next = 0;
      for (const waiter of batch) {
        const outcome = outcomes[next++] as RowOutcome | Promise<RowOutcome>;
        if (outcome instanceof Promise) settleLater(waiter, outcome);
        else waiter.resolve(outcome);
      }
    } catch (cause) {
      for (const waiter of batch) waiter.reject(unconfirmed(cause));
    }
  }

  /** Commits, and tells the observer. */
  async #observed(
    plants: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]> {
    const startedAt = performance.now();
    let isFailed = true;
    try {
      const outcomes = await this.#engine.commit(plants, abandoned);
      isFailed = false;
      return outcomes;
    } finally {
      const durationMs = performance.now() - startedAt;
      this.#observer?.commitEnded({ rows: plants.length, durationMs, isFailed });
    }
  }
}

function settleLater(waiter: Waiter, outcome: Promise<RowOutcome>): void {
  outcome.then(
    (known) => waiter.resolve(known),
    (cause) => waiter.reject(unconfirmed(cause)),
  );
}

function unconfirmed(cause: unknown): PlantError {
  return new PlantError(
    "unavailable",
    "the store could not confirm that the plant was written; try again",
    { cause },
  );
}

/** Of a plant without any text. */
export const heapBytesMin = 512;

/**
 * What a waiting plant may hold of the heap, in bytes: two for a UTF-16 code
 * unit, and the objects around it. An upper bound, so that the limits hold.
 */
export function heapBytes(plant: NewPlant): number {
  let units = 0;
  for (const field of textFields) units += plant[field]?.length ?? 0;
  return heapBytesMin + 2 * units;
}
