import { type Cancellation, type NewPlant, PlantError } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";

/** How plants share commits: what waits, how much may, and who leaves. */
export interface Commits {
  /**
   * @param signal Takes a plant that waits out of the queue: it is not written.
   * Once its commit is under way, only the caller leaves.
   * @returns The outcome of this plant, once its commit has returned.
   * @throws The reason of the signal, at once; a {@link PlantError}
   * `overloaded`, at once; or `unavailable`, when the commit failed.
   */
  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome>;

  /** Whether not even the smallest plant would be taken now. */
  isFull(): boolean;

  /** Resolves when nothing waits and no commit is under way. */
  drain(): Promise<void>;
}

/** What the callers of a commit that failed get. */
export function notConfirmed(cause: unknown): PlantError {
  return new PlantError(
    "unavailable",
    "the store could not confirm that the plant was written; try again",
    { cause },
  );
}
