import type { NewPlant } from "../plant.ts";
import type { Format } from "./format.ts";

/** A file of plants, a piece for each page of them. @param onPage Called with the plants written so far. */
export async function* writePlants(
  pages: AsyncIterable<readonly NewPlant[]>,
  format: Format,
  onPage: (plants: number) => void,
): AsyncGenerator<Buffer, void> {
  yield Buffer.from(format.header);
  let done = 0;
  for await (const page of pages) {
    yield Buffer.from(page.map(format.write).join(""));
    done += page.length;
    onPage(done);
  }
}
