import type { NewPlant } from "../../../src/plant.ts";

/** The number and sizes of plants: `large` ones fill the log and cause checkpoints. */
export type PlantSizes = "small" | "mixed" | "large";

/**
 * The plant with a number; always the same. Its id is far from the next one's, so that pages in the
 * middle of the table split and are rewritten.
 */
export function plantOfNumber(number: number, sizes: PlantSizes): NewPlant {
  const id = BigInt.asIntN(64, BigInt(number) * 0x9e37_79b9_7f4a_7c15n);
  return {
    id,
    name: `plant ${number} `.padEnd(nameLength(number, sizes), `${id} ü☘ `),
    tag: number % 3 === 0 ? undefined : "t".repeat(number % 40),
  };
}

function nameLength(number: number, sizes: PlantSizes): number {
  if (sizes === "large") return number % 4 === 0 ? 500_000 : 300;
  if (sizes === "mixed" && number % 17 === 0) return 9000;
  return 10 + ((number * 37) % 300);
}
