/** What a store was told, and what it told. */
export interface Account {
  /** Plants that were there before, or that a right answer has acknowledged since. */
  readonly acknowledged: number;
  /** Requests whose answers nobody waited for, at most: a load generator that stops at once leaves some. */
  readonly unanswered: number;
}

/** @throws if plants are missing, or there are more than were ever sent. */
export function assertStored(stored: number, { acknowledged, unanswered }: Account): void {
  if (stored >= acknowledged && stored <= acknowledged + unanswered) return;
  throw new Error(
    `${stored} plants are stored; ${acknowledged} were acknowledged, and ${unanswered} more may be there`,
  );
}
