import type { NewPlant, Obstacle } from "../plant.ts";

/** `created`: the plant is stored, now or since before. `id_taken`: its id is another plant's. */
export type RowOutcome = "created" | "id_taken";

/** A database that holds plants: whether it is as it must be, and its end. */
export interface Engine {
  /**
   * Checks again all that opening the store required. Writes nothing, so it may
   * run every few seconds.
   *
   * @throws When something is no longer as it must be, or cannot be checked.
   */
  inspect(): Promise<void>;

  /**
   * Inspects, then writes as a commit does, to the same disk and by the same
   * rights, and leaves nothing behind.
   *
   * @throws When that fails.
   */
  probe(): Promise<void>;

  /** What the engine knows to be in the way, without a look: `failed` or `unreachable`. */
  obstacle(): Obstacle | undefined;

  /** What an error of a commit, `inspect` or `probe` says of the store. */
  obstacleFrom(error: unknown): Obstacle;

  /** Releases every resource. Called once, when no commit is under way or to come. */
  close(): Promise<void>;
}

/** An engine that is given the plants of each commit. */
export interface BatchEngine extends Engine {
  /**
   * How many commits run side by side; with more than one, the database settles
   * which of several rows with one id is the first.
   */
  readonly commitsMax: number;

  /**
   * Stores the batch, all of it or none. The batch may hold an id more than
   * once; the first row wins.
   *
   * @param abandoned Aborts when nobody waits for any row of the batch any more:
   * an engine that tries again may stop.
   * @returns One outcome a row, in the order of the rows, after every row that is
   * `created` is on stable storage. A promise for a row that is still tried, because
   * the part of the database that keeps it fails; `close` waits for those.
   * @throws When it is not known that the batch is durable: every row of it may
   * be stored or not.
   */
  commit(
    batch: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]>;
}
