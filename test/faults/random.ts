export type Random = ReturnType<typeof createRandom>;

/**
 * A random generator that repeats its sequence for the same seed.
 *
 * @param name Gives each user of a seed its own sequence, independent of the others.
 */
export function createRandom(seed: number, name: string) {
  let state = hash(`${seed} ${name}`);

  /**
   * From 0 up to, but excluding, 1. Mulberry32, by Tommy Ettinger: 32 bits of state are enough for
   * a plan.
   */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `min` to `max`, including both. */
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    /** True in this share of all cases. */
    chance: (share: number) => next() < share,
    pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
      const index = int(0, list.length - 1);
      if (!(index in list)) throw new RangeError("nothing to pick from");
      return list[index] as T;
    },
    /** The list in random order. */
    shuffle: <T>(list: readonly T[]): T[] =>
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
