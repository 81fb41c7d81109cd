import type { NewPlant } from "../plant.ts";

/** `created`: the plant is stored, now or since before. `id_taken`: its id is another plant's. */
export type RowOutcome = "created" | "id_taken";

/**
 * What differs between databases: how a batch of plants becomes durable.
 * Queueing, limits, deadlines and the rest of the PlantStore promise are built
 * on top of it, once, for every engine.
 */
export interface Engine {
  /**
   * Stores the batch in one transaction. Never called while an earlier call is
   * under way. The batch may hold an id more than once; the first row wins.
   *
   * @returns One outcome a row, in the order of the rows, after the transaction
   * is on stable storage.
   * @throws When it is not known that the transaction is durable: every row of
   * it may be stored or not.
   */
  commit(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]>;

  /** Whether a commit could succeed now. */
  ready(): boolean;

  /** Releases every resource. Called once, when no commit is under way or to come. */
  close(): Promise<void>;
}
