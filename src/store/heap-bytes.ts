import { type NewPlant, textFields } from "../plant.ts";

/** Of a plant without any text. */
export const heapBytesMin = 512;

/**
 * What a waiting plant may hold of the heap, in bytes: two for a UTF-16 code
 * unit, and the objects around it. An upper bound, so that the limits hold.
 */
export function heapBytes(plant: NewPlant): number {
  let units = 0;
  for (const field of textFields) units += plant[field]?.length ?? 0;
  return heapBytesMin + 2 * units;
}
