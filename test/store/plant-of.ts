import type { NewPlant } from "../../src/plant.ts";

/** One plant per id. It has a tag if the id is even. */
export function plantOf(id: bigint): NewPlant {
  return { id, name: `plant ${id}`, tag: id % 2n === 0n ? `tag ${id}` : undefined };
}
