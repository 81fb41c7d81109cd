/** Names in one space: short ones, and full ones where two short ones are the same. */

export interface Named {
  /** Differs from the full name of all others. */
  readonly full: string;
  readonly short: string;
}

/** @returns the name of each, by its full name. */
export function chooseNames(all: readonly Named[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const { short } of all) count.set(short, (count.get(short) ?? 0) + 1);
  return new Map(all.map(({ short, full }) => [full, count.get(short) === 1 ? short : full]));
}
