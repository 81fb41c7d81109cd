export interface RateLimiterOptions {
  /** Requests per second for one key, and the size of a burst. */
  readonly perSecond: number;
  /** Monotonic seconds, from any start. */
  readonly now?: (() => number) | undefined;
}

/** Seconds. The clock and sums of fractions are inexact; no request waits for a microsecond. */
const slack = 1e-6;

/**
 * A token bucket for each key. A bucket is one number: the time at which it is full again (the
 * virtual scheduling of ITU-T I.371, known as GCRA). It is full within a second, so a key that asks
 * for nothing in that time is forgotten: memory holds the keys of at most two seconds.
 */
export class RateLimiter {
  readonly perSecond: number;
  readonly #now: () => number;
  /** The keys that were counted since `#sweptAt`, and those of the second before. */
  #recent = new Map<string, number>();
  #older = new Map<string, number>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor({ perSecond, now = monotonicSeconds }: RateLimiterOptions) {
    this.perSecond = perSecond;
    this.#now = now;
  }

  /**
   * Takes one request from a key's bucket.
   *
   * @returns 0; or, if the bucket is empty, the seconds until a request is allowed.
   */
  take(key: string): number {
    const now = this.#now();
    if (now - this.#sweptAt >= 1) this.#sweep(now);
    const full = this.#recent.get(key) ?? this.#older.get(key) ?? 0;
    const next = Math.max(full, now) + 1 / this.perSecond;
    const wait = next - (now + 1);
    if (wait > slack) return wait;
    this.#recent.set(key, next);
    return 0;
  }

  get keys(): number {
    return this.#recent.size + this.#older.size;
  }

  #sweep(now: number): void {
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#sweptAt = now;
  }
}

function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds + nanoseconds / 1e9;
}
