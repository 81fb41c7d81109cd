/** Where commits run in parallel, and before anything is known about the callers. */
const worthwhileInParallel = 32;

/** Per commit. After some fifty commits, callers that have gone no longer count. */
const callersDecay = 0.95;

/** About how long callers take to read their answers and come again. */
const returnMs = { base: 0.5, each: 0.04 } as const;

/** Decides how many rows make a commit worthwhile, and how long to wait for them. */
export class Pace {
  readonly #rowsMax: number;
  readonly #isParallel: boolean;
  /** About how many there are at a time. */
  #callers = 0;
  #worthwhile: number;
  #patienceMs = 0;

  constructor({ rowsMax, isParallel }: { rowsMax: number; isParallel: boolean }) {
    this.#rowsMax = rowsMax;
    this.#isParallel = isParallel;
    this.#worthwhile = Math.min(worthwhileInParallel, rowsMax);
  }

  /** This many waiting rows are worth a commit. */
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
   * @param waiting How many callers waited for an outcome at its end, including its own.
   */
  commitEnded(waiting: number, commitMs: number): void {
    if (this.#isParallel) return;
    this.#callers = Math.max(waiting, this.#callers * callersDecay);
    const untilBackMs = returnMs.base + returnMs.each * this.#callers;
    const isSlow = commitMs > untilBackMs;
    this.#patienceMs = isSlow ? untilBackMs : 0;
    const wanted = isSlow ? this.#callers : this.#callers / 2;
    this.#worthwhile = Math.min(Math.ceil(wanted), this.#rowsMax);
  }
}
