/** A random generator that repeats its sequence for the same seed. */
export interface Random {
  /** From 0 up to, but excluding, 1. */
  next(): number;
  /** An integer from `min` to `max`, including both. */
  int(min: number, max: number): number;
  /** True in this share of all cases. */
  chance(share: number): boolean;
  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T;
  /** The list in random order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** @param name Gives each user of a seed its own sequence, independent of the others. */
export function createRandom(seed: number, name: string): Random {
  let state = hash(`${seed} ${name}`);

  /** Mulberry32, by Tommy Ettinger: 32 bits of state are enough for a plan. */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    chance: (share) => next() < share,
    pick(list) {
      const index = int(0, list.length - 1);
      if (!(index in list)) throw new RangeError("nothing to pick from");
      return list[index] as (typeof list)[number];
    },
    shuffle: (list) =>
      list
        .map((value) => ({ value, place: next() }))
        .sort((a, b) => a.place - b.place)
        .map(({ value }) => value),
  };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}
