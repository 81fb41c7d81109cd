import type { NewPlant, Obstacle } from "../plant.ts";

/** `created`: stored, by this call or an earlier one. `id_taken`: another plant has the id. */
export type RowOutcome = "created" | "id_taken";

export interface Engine extends BatchEngine {
  /** What prevented commits when it was opened, if that may pass. A probe says when it is gone. */
  readonly openedWith?: unknown;

  /**
   * Checks again what may have changed, and opens the store if that was not possible yet. Writes
   * nothing to an open store, so it may run every few seconds. @throws If a check fails or cannot
   * be made.
   */
  inspect(): Promise<void>;

  /** Inspects, then writes as a commit does, and leaves nothing behind. @throws If either fails. */
  probe(): Promise<void>;

  /** The obstacle that the engine already knows of, without a check: `failed` or `unreachable`. */
  obstacle(): Obstacle | undefined;

  /** Classifies an error of a commit, `inspect` or `probe`. */
  obstacleFrom(error: unknown): Obstacle;

  /** Releases every resource. Called once, when no caller waits. Ends what is under way, as far as it can. */
  close(): Promise<void>;
}

/** The part of an engine that commits batches. */
export interface BatchEngine {
  /** Of a part, in parallel. If more than one, the database decides which row of an id is first. */
  readonly commitsMax: number;

  /** How many commits it takes beyond these, so that it never waits for the next one. */
  readonly commitsAhead: number;

  /** Whether a commit with few rows waits for those of its part that are under way. */
  readonly mergesCommits: boolean;

  /** Parts fail and stall by themselves, so a batch has ids of one part. */
  partOf(id: bigint): string;

  /** Whether the others may be stored without a single row. Nothing of the batch was stored. */
  isOfRow(error: unknown): boolean;

  /** When a commit that failed is tried again. Undefined: never. */
  readonly retries?: Retries;

  /**
   * Stores all of the batch, apart from rows that cannot be stored, or none of it. An id may occur
   * more than once; the first row wins.
   * @param part That of all its plants when they were submitted.
   * @returns One outcome a row, in their order, once every `created` row is on stable storage. An
   * error: the row cannot be stored, and the others were.
   * @throws If it is unknown whether the batch is durable: each row may or may not be stored.
   */
  commit(batch: readonly NewPlant[], part: string): Promise<readonly (RowOutcome | Error)[]>;
}

export interface Retries {
  readonly retryLimitMs: number;
  /** The pauses between tries double from the minimum to the maximum. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  mayHelp(error: unknown): boolean;
  /** Whether a part is silent, so that all that wait for it would wait in vain. */
  isSilent(error: unknown, part: string): boolean;
}
