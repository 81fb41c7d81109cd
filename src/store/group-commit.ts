import { type Cancellation, type NewPlant, overloaded } from "../plant.ts";
import type { CommitObserver } from "./commit-observer.ts";
import { type Commits, notConfirmed } from "./commits.ts";
import type { BatchEngine, RowOutcome } from "./engine.ts";
import { heapBytes } from "./heap-bytes.ts";
import type { CommitLimits } from "./options.ts";
import { Waiter } from "./waiter.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** With this many rows, a commit is worth starting before the queue is complete. */
const rowsAtOnce = 32;

/**
 * Groups plants into commits. Plants that arrive while the engine runs its maximum of parallel
 * commits share the next one, up to the limits, in order of arrival. A commit with enough rows
 * starts at once, so it is written while the rest of a burst is still being read.
 */
export class GroupCommit implements Commits {
  readonly #engine: Pick<BatchEngine, "commit" | "commitsMax">;
  readonly #limits: CommitLimits;
  readonly #waiting: WaitingRoom;
  readonly #observer: CommitObserver | undefined;
  /**
   * In order of arrival. Callers that gave up stay until their turn comes or until they are half of
   * it.
   */
  #queue: Waiter[] = [];
  #isGathering = false;
  #underWay = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(
    engine: Pick<BatchEngine, "commit" | "commitsMax">,
    limits: CommitLimits,
    observer?: CommitObserver,
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#waiting = new WaitingRoom(limits, observer);
    this.#observer = observer;
  }

  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const bytes = heapBytes(plant);
    if (!this.#waiting.hasRoomFor(bytes)) {
      return Promise.reject(overloaded());
    }
    const waiter = new Waiter(plant, bytes, this.#remove, signal);
    this.#queue.push(waiter);
    this.#waiting.enter(bytes);
    this.#gather();
    return waiter.outcome;
  }

  isFull(): boolean {
    return this.#waiting.isFull;
  }

  async drain(): Promise<void> {
    if (this.#underWay === 0 && !this.#isGathering) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  /**
   * Starts commits for everything that waits, unless the maximum is already running. Ends a drain.
   */
  #gather(): void {
    while (this.#isWorthwhile() && this.#mayBegin()) this.#begin();
    if (this.#isGathering) return;
    if (this.#mayBegin()) {
      // Plants that arrive in the same turn of the event loop share a commit. Otherwise the first
      // plant of a burst would be committed alone, and the others would wait for it.
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

  /** Whether the next commit has enough rows or is full. */
  #isWorthwhile(): boolean {
    const { batchRowsMax, batchBytesMax } = this.#limits;
    return (
      this.#waiting.rows >= Math.min(rowsAtOnce, batchRowsMax) ||
      this.#waiting.bytes >= batchBytesMax
    );
  }

  #mayBegin(): boolean {
    return this.#waiting.rows > 0 && this.#underWay < this.#engine.commitsMax;
  }

  #begin(): void {
    const batch = this.#takeBatch();
    this.#underWay++;
    void this.#commitBatch(batch).then(() => {
      this.#underWay--;
      this.#gather();
    });
  }

  /** Removes a waiter that gave up, so that its plant is not written. */
  readonly #remove = (waiter: Waiter): void => {
    waiter.plant = undefined;
    this.#waiting.leave(1, waiter.bytes);
    if (this.#queue.length > 2 * this.#waiting.rows) {
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
    this.#waiting.leave(batch.length, bytes);
    return batch;
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
      for (const waiter of batch) waiter.reject(notConfirmed(cause));
    }
  }

  /** Commits the batch and reports it to the observer. */
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
    (cause) => waiter.reject(notConfirmed(cause)),
  );
}
