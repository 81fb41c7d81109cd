import type { CommitObserver } from "./commit-observer.ts";
import type { OnObstacle } from "./write-watch.ts";

export interface StoreOptions {
  /**
   * Called at most once, when the store has failed for good: from then on
   * `obstacle()` is `failed` and every create fails with `unavailable`. Only opening
   * the store anew helps, best in a new process.
   */
  readonly onFailure?: (error: Error) => void;
  /** Told what keeps the store from taking plants, and when nothing does any more. */
  readonly onObstacle?: OnObstacle;
  /** How much may wait, and how much shares a commit. */
  readonly limits?: Partial<CommitLimits>;
  /**
   * How many threads of this process open the store, each for itself: each takes
   * its part of the connections, and at least one. Default: 1.
   */
  readonly threads?: number;
  /** Told of commits and of what waits for them. Default: nobody is. */
  readonly observer?: CommitObserver | undefined;
}

/** Bytes are what a plant holds of the heap while it waits, at most. */
export interface CommitLimits {
  /** Rows in one commit. Default: 512. */
  readonly batchRowsMax: number;
  /** Bytes in one commit; a larger plant goes alone. Default: 4 MiB. */
  readonly batchBytesMax: number;
  /** Rows that may wait for a commit. Default: 16,384. */
  readonly waitingRowsMax: number;
  /** Bytes that may wait for a commit; a larger plant is never taken. Default: 64 MiB. */
  readonly waitingBytesMax: number;
}

export const defaultLimits: CommitLimits = {
  // The cost of one sync is spread thin enough here; a larger batch only makes
  // its first caller wait for its last.
  batchRowsMax: 512,
  // Keeps one commit in the tens of milliseconds on an ordinary disk, so that
  // plants of a megabyte do not hold up their small neighbours.
  batchBytesMax: 4 * 1024 * 1024,
  // Less than a second of work at full speed: who waits longer has given up.
  waitingRowsMax: 16_384,
  // A quarter of a small container's 256 MiB heap.
  waitingBytesMax: 64 * 1024 * 1024,
};

/** @throws {RangeError} Naming the limit that is not a positive integer. */
export function resolveLimits(limits: Partial<CommitLimits> = {}): CommitLimits {
  const whole = { ...defaultLimits, ...limits };
  for (const [name, value] of Object.entries(whole)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`${name} must be a positive integer, not ${value}`);
    }
  }
  return whole;
}
