import { type NewPlant, textFields } from "../plant.ts";

/** For a plant without any text. */
export const heapBytesMin = 512;

/**
 * The most heap that a waiting plant may hold, in bytes: two for each UTF-16 code unit, plus the
 * objects around it. An upper bound, so that the limits hold.
 */
export function heapBytes(plant: NewPlant): number {
  let units = 0;
  for (const field of textFields) units += plant[field]?.length ?? 0;
  return heapBytesMin + 2 * units;
}
