import type { Cancellation, NewPlant } from "../plant.ts";
import type { CommitObserver } from "./commit-observer.ts";
import { CommitQueue, type CommitWatch } from "./commit-queue.ts";
import type { BatchEngine, RowOutcome } from "./engine.ts";
import type { CommitLimits } from "./options.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** Groups plants into commits, in a queue for each part of the database. */
export class GroupCommit {
  readonly #engine: BatchEngine;
  readonly #limits: CommitLimits;
  readonly #room: WaitingRoom;
  readonly #watch: CommitWatch | undefined;
  readonly #observer: CommitObserver | undefined;
  readonly #queues = new Map<string, CommitQueue>();

  constructor(
    engine: BatchEngine,
    limits: CommitLimits,
    { watch, observer }: { watch?: CommitWatch; observer?: CommitObserver | undefined } = {},
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#room = new WaitingRoom(limits, observer);
    this.#watch = watch;
    this.#observer = observer;
  }

  /**
   * @param signal Removes a waiting plant from its queue, so that it is not written. Once its
   * commit has begun, only the caller stops waiting.
   * @returns The outcome of this plant, once its commit has returned.
   * @throws The reason of the signal, at once; a {@link PlantError} `overloaded`, at once; or
   * `unavailable`, if the commit failed.
   */
  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return this.#queueOf(plant.id).submit(plant, signal);
  }

  /** Whether even the smallest plant of any part would be rejected now. */
  isFull(): boolean {
    return this.#room.isFull;
  }

  /** Resolves when all queues are empty and no commit is under way. */
  async drain(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.drain()));
  }

  #queueOf(id: bigint): CommitQueue {
    const part = this.#engine.partOf(id);
    let queue = this.#queues.get(part);
    if (queue === undefined) {
      queue = new CommitQueue(part, {
        engine: this.#engine,
        limits: this.#limits,
        share: this.#room.openShare(),
        watch: this.#watch,
        observer: this.#observer,
      });
      this.#queues.set(part, queue);
    }
    return queue;
  }
}
