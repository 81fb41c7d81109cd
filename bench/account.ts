/** The plants sent to a store, and the answers. */
export interface Account {
  /** Plants that existed before, or that a correct answer has acknowledged since. */
  readonly acknowledged: number;
  /**
   * The most requests whose answers nobody waited for: a load generator that stops at once leaves
   * some.
   */
  readonly unanswered: number;
}

/** @throws if plants are missing, or if there are more than were ever sent. */
export function assertStored(stored: number, { acknowledged, unanswered }: Account): void {
  if (stored >= acknowledged && stored <= acknowledged + unanswered) return;
  throw new Error(
    `${stored} plants are stored; ${acknowledged} were acknowledged, and ${unanswered} more may be there`,
  );
}
