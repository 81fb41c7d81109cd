/** More rows are worth a commit of their own, however many callers there are. */
const worthwhileMax = 64;

/** A report; after some fifty, callers that have gone no longer count. */
const callersDecay = 0.95;

/** About how long callers take to read their answers and come again. */
const returnMs = { base: 0.5, each: 0.04 } as const;

/** Decides how many rows make a commit worth its while, and how long to wait for them. */
export class Pace {
  readonly #batchRowsMax: number;
  /** How many there are at a time, about. */
  #callers = 0;
  #worthwhile = 1;
  #patienceMs = 0;

  constructor(batchRowsMax: number) {
    this.#batchRowsMax = batchRowsMax;
  }

  /** As many rows that wait are worth a commit. */
  get worthwhile(): number {
    return this.#worthwhile;
  }

  /** How long to wait for them; 0: for the rest of this turn of the event loop. */
  get patienceMs(): number {
    return this.#patienceMs;
  }

  /**
   * If commits are fast, half of the callers share one while the other half is being answered and
   * comes again: neither thread waits for the other. If a commit takes longer than callers take to
   * come again, all share it: in two halves, each would wait for two commits. A lone caller has its
   * commit at once.
   *
   * @param waiting How many wait for an outcome as one is reported.
   * @param commitMs How long its commit took.
   */
  commitEnded(waiting: number, commitMs: number): void {
    this.#callers = Math.max(waiting, this.#callers * callersDecay);
    const untilBackMs = returnMs.base + returnMs.each * this.#callers;
    const isSlow = commitMs > untilBackMs;
    this.#patienceMs = isSlow ? untilBackMs : 0;
    this.#worthwhile = isSlow
      ? Math.min(Math.ceil(this.#callers), this.#batchRowsMax)
      : Math.min(Math.ceil(this.#callers / 2), worthwhileMax);
  }
}
