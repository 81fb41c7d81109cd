import { int64Max, int64Min, type NewPlant } from "../plant.ts";

/** One snapshot of the plants of a store: id, name and tag bit for bit, or not at all. */
export interface PlantReader extends AsyncDisposable {
  readonly count: number;

  /**
   * @returns The plants from this id on, in the order of their ids: no more than the limits allow,
   * but at least one if there is one. @throws {StoreError}
   */
  readPage(from: bigint, limits: PageLimits): Promise<readonly NewPlant[]>;

  /** Identifies the store among all, whatever its URL, while it runs. */
  place(): Promise<string>;
}

/** Of plants in memory at once, with their texts in UTF-8. A larger plant is returned alone. */
export type PageLimits = Readonly<typeof defaultPageLimits>;

export const defaultPageLimits = { rowsMax: 1000, bytesMax: 4 * 1024 * 1024 };

/** Reads all plants in the order of their ids, page by page. @throws {StoreError} */
export async function* readPages(
  reader: PlantReader,
  options: { from?: bigint | undefined; limits?: PageLimits } = {},
): AsyncGenerator<readonly NewPlant[], void> {
  const { from = int64Min, limits = defaultPageLimits } = options;
  for (let next = from; next <= int64Max; ) {
    const page = await reader.readPage(next, limits);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    next = last.id + 1n;
  }
}
