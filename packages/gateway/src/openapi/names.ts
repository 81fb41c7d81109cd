/** Names in one namespace: short names, or full names if two short ones are equal. */

export interface Named {
  /** Unique among all full names. */
  readonly full: string;
  readonly short: string;
}

/** @returns the chosen name of each, by its full name. */
export function chooseNames(all: readonly Named[]): ReadonlyMap<string, string> {
  const count = new Map<string, number>();
  for (const { short } of all) count.set(short, (count.get(short) ?? 0) + 1);
  return new Map(all.map(({ short, full }) => [full, count.get(short) === 1 ? short : full]));
}
