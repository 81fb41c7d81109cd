import { type Cancellation, type NewPlant, PlantError } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";

/** Lets plants share commits: queues them, limits the queue, and removes callers that give up. */
export interface Commits {
  /**
   * @param signal Removes a waiting plant from the queue, so that it is not written. Once its
   * commit is under way, only the caller stops waiting.
   * @returns The outcome of this plant, once its commit has returned.
   * @throws The reason of the signal, at once; a {@link PlantError} `overloaded`, at once; or
   * `unavailable`, if the commit failed.
   */
  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome>;

  /** Whether even the smallest plant would be rejected now. */
  isFull(): boolean;

  /** Resolves when the queue is empty and no commit is under way. */
  drain(): Promise<void>;
}

/** The error that callers get when their commit fails. */
export function notConfirmed(cause: unknown): PlantError {
  return new PlantError(
    "unavailable",
    "the store could not confirm that the plant was written; try again",
    { cause },
  );
}
