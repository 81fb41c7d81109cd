import { int64Max, int64Min, type NewPlant } from "../plant.ts";

/**
 * Reads the plants of a store: for operators, and apart from the PlantStore,
 * which can create and nothing else. One snapshot of the store: plants that are
 * created after it was opened are not in it.
 *
 * **Exactness.** id, name and tag come back bit for bit, or not at all.
 */
export interface PlantReader {
  /** How many plants the snapshot holds. */
  readonly count: number;

  /**
   * @returns The plants from this id on, in the order of their ids, as many as
   * the limits allow, and one at least where there is one.
   * @throws {StoreReadError}
   */
  readPage(from: bigint, limits: PageLimits): Promise<readonly NewPlant[]>;

  /** Ends the snapshot. */
  close(): Promise<void>;
}

/** What of the plants is in memory at once; a plant that is larger comes alone. */
export interface PageLimits {
  readonly rowsMax: number;
  /** Of name and tag, in UTF-8. */
  readonly bytesMax: number;
}

export const defaultPageLimits: PageLimits = { rowsMax: 1000, bytesMax: 4 * 1024 * 1024 };

/**
 * All plants in the order of their ids, page by page.
 *
 * @throws {StoreReadError}
 */
export async function* readPages(
  reader: PlantReader,
  { from = int64Min, limits = defaultPageLimits }: { from?: bigint; limits?: PageLimits } = {},
): AsyncGenerator<readonly NewPlant[], void> {
  for (let next = from; next <= int64Max; ) {
    const page = await reader.readPage(next, limits);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    next = last.id + 1n;
  }
}
