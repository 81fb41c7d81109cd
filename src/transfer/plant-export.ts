import type { NewPlant } from "../plant.ts";
import type { Format } from "./format.ts";

/** A file of plants, a piece for each page of them. */
export async function* writePlants(
  pages: AsyncIterable<readonly NewPlant[]>,
  format: Format,
): AsyncGenerator<{ readonly bytes: Buffer; readonly plants: number }, void> {
  yield { bytes: Buffer.from(format.header), plants: 0 };
  for await (const page of pages) {
    yield { bytes: Buffer.from(page.map(format.write).join("")), plants: page.length };
  }
}
