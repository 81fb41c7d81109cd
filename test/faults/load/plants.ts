import type { TestPlant } from "../history/check.ts";
import type { Random } from "../random.ts";

/** Texts that would be changed by a store that normalises, trims, folds or counts wrongly. */
const texts = [
  "",
  " ",
  "Basil",
  "basil",
  "Caf\u00e9",
  "Cafe\u0301",
  "\ufeffmark",
  "line\r\nline\ttab",
  "🌱🌳",
  "\u{10ffff}\uffff",
  "'; DROP TABLE plants; --",
  'NULL\\"{}',
] as const;

/** Usually small; sometimes too large for a page or a packet. */
export function randomPlant(id: bigint, random: Random): TestPlant {
  const length = random.chance(0.02) ? random.int(5000, 40_000) : random.int(0, 120);
  const name = `${random.pick(texts)}${"x".repeat(length)}`;
  return random.chance(0.3) ? { id, name } : { id, name, tag: random.pick(texts) };
}

/** Plants with one id that all differ as little as possible. */
export function rivalPlants(id: bigint, random: Random): readonly TestPlant[] {
  const name = random.pick(texts);
  return random.shuffle([
    { id, name },
    { id, name, tag: "" },
    { id, name, tag: " " },
    { id, name: `${name} `, tag: "" },
    { id, name: `${name}\u0301` },
    { id, name, tag: "NULL" },
  ]);
}

/**
 * Ids of a single client: far beyond 2^53, where a rounded id would be another plant's, and
 * positive as well as negative.
 */
export function ownIds(client: number): () => bigint {
  const first = 2n ** 62n + BigInt(client) * 2n ** 32n + 1n;
  let next = 0n;
  return () => (client % 2 === 0 ? 1n : -1n) * (first + next++);
}
