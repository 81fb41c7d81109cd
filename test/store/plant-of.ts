import type { NewPlant } from "../../src/plant.ts";

/** One plant per id. It has a tag if the id is even. */
export function plantOf(id: bigint | number): NewPlant {
  const plant = { id: BigInt(id), name: `plant ${id}` };
  return /[02468]$/.test(`${id}`) ? { ...plant, tag: `tag ${id}` } : plant;
}

/** Plants with ids one after another. */
export function plantsOf(count: number, from = 0): readonly NewPlant[] {
  return Array.from({ length: count }, (_, index) => plantOf(from + index));
}
