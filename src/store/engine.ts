import type { NewPlant, Obstacle } from "../plant.ts";

/**
 * `created`: the plant is stored, by this call or an earlier one. `id_taken`: the id belongs to
 * another plant.
 */
export type RowOutcome = "created" | "id_taken";

/** A database that holds plants. */
export interface Engine {
  /**
   * Repeats all the checks that opening the store required. Writes nothing, so it may run every few
   * seconds.
   *
   * @throws If a check fails or cannot be made.
   */
  inspect(): Promise<void>;

  /**
   * Inspects, then writes to the same disk with the same permissions as a commit. Leaves nothing
   * behind.
   *
   * @throws If either fails.
   */
  probe(): Promise<void>;

  /** The obstacle that the engine already knows of, without a check: `failed` or `unreachable`. */
  obstacle(): Obstacle | undefined;

  /** Classifies an error of a commit, `inspect` or `probe`. */
  obstacleFrom(error: unknown): Obstacle;

  /** Releases every resource. Called once, after the last commit. */
  close(): Promise<void>;
}

/** An engine that commits the batches it is given. */
export interface BatchEngine extends Engine {
  /**
   * How many commits run in parallel. With more than one, the database decides which of several
   * rows with the same id comes first.
   */
  readonly commitsMax: number;

  /**
   * Stores all of the batch or none of it. An id may occur more than once in the batch; the first
   * row wins.
   *
   * @param abandoned Aborts when no caller waits for any row of the batch. An engine that is
   * retrying may then stop.
   * @returns One outcome a row, in the order of the rows, once every `created` row is on stable
   * storage. An outcome is a promise if the engine is still retrying that row because the part of
   * the database that stores it fails; `close` waits for these.
   * @throws If it is unknown whether the batch is durable. Each of its rows may or may not be
   * stored.
   */
  commit(
    batch: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]>;
}
