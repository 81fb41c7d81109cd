import { isSamePlant, type NewPlant, textFields } from "../plant.ts";
import { CopyError } from "./open-error.ts";
import { type PlantReader, readPages } from "./plant-reader.ts";

export interface Comparison {
  /** The first plant in the source that the target lacks. */
  readonly missing: bigint | undefined;
  /** How many plants of the source precede it. The target has all of them. */
  readonly matched: number;
  /** The last plant that both have. */
  readonly last: bigint | undefined;
}

/**
 * Compares every plant in the target with the source, row by row, in the order of the ids.
 *
 * @param onPlants Called with the number of plants in the target that have been compared.
 * @throws {CopyError} {@link StoreReadError}
 */
export async function compareStores(
  source: PlantReader,
  target: PlantReader,
  onPlants: (done: number) => void,
): Promise<Comparison> {
  const wanted = new Cursor(source);
  await wanted.advance();
  let missing: bigint | undefined;
  let matched = 0;
  let last: bigint | undefined;
  let done = 0;
  for await (const page of readPages(target)) {
    for (const plant of page) {
      while (wanted.plant !== undefined && wanted.plant.id < plant.id) {
        missing ??= wanted.plant.id;
        await wanted.advance();
      }
      assertSame(wanted.plant, plant);
      if (missing === undefined) matched++;
      last = plant.id;
      await wanted.advance();
    }
    done += page.length;
    onPlants(done);
  }
  return { missing: missing ?? wanted.plant?.id, matched, last };
}

function assertSame(wanted: NewPlant | undefined, plant: NewPlant): void {
  const { id } = plant;
  if (wanted?.id !== id) {
    throw new CopyError(
      `the target holds plant ${id}, which the source does not have; copy to an empty store, or to one that has only plants of this source`,
    );
  }
  if (!isSamePlant(wanted, plant)) throw conflict(id);
}

export function conflict(id: bigint): CopyError {
  return new CopyError(
    `plant ${id} is another plant in the target, with another ${textFields.join(" or ")}; nothing was overwritten`,
  );
}

/** Reads one plant after another. */
class Cursor {
  /** Undefined before the first and after the last. */
  plant: NewPlant | undefined;
  readonly #pages: AsyncGenerator<readonly NewPlant[], void>;
  #page: readonly NewPlant[] = [];
  #next = 0;

  constructor(reader: PlantReader) {
    this.#pages = readPages(reader);
  }

  async advance(): Promise<void> {
    if (this.#next === this.#page.length) {
      this.#page = (await this.#pages.next()).value ?? [];
      this.#next = 0;
    }
    this.plant = this.#page[this.#next++];
  }
}
