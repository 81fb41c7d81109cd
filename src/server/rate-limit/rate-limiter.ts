import { hash, randomBytes } from "node:crypto";

/** The state of a limiter. Threads that share it count together. */
export interface RateLimitMemory {
  readonly cells: SharedArrayBuffer;
  /** 1 while a thread is counting, otherwise 0. */
  readonly lock: SharedArrayBuffer;
  /** Random, so that clients cannot know which keys share cells. */
  readonly seed: string;
}

export interface RateLimiterOptions {
  /** Requests per second for one key, and the size of a burst. */
  readonly perSecond: number;
  readonly memory: RateLimitMemory;
  /** Monotonic seconds, from any start; the same clock for all threads that share the memory. */
  readonly now?: () => number;
}

/** A key has one cell in each row. */
const rows = 4;

/** A power of two. With 8 bytes each, all rows take 2 MiB. */
const cellsPerRow = 65_536;

/** Seconds. The clock and sums of fractions are inexact; no request waits for a microsecond. */
const slack = 1e-6;

/** Counting takes under a microsecond, unless the kernel preempts the thread. */
const spins = 1000;
const napMs = 0.1;

/** After so many naps, the counting thread is assumed dead: a thread can be terminated anywhere. */
const napsMax = 100;

export function createRateLimitMemory(): RateLimitMemory {
  const bytes = rows * cellsPerRow * Float64Array.BYTES_PER_ELEMENT;
  return {
    cells: new SharedArrayBuffer(bytes),
    lock: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
    seed: randomBytes(16).toString("latin1"),
  };
}

/**
 * A token bucket for each key, in memory of fixed size for any number of keys.
 *
 * A bucket is one number: the time at which it is full again (the virtual scheduling of ITU-T
 * I.371, known as GCRA). The numbers are in a count-min sketch with conservative update (Estan and
 * Varghese, 2002). A key has one cell in each row and shares it with other keys. The minimum of its
 * cells is its number or a later one. So nothing is evicted, and other keys cannot reset a key.
 * They can use it up, if keys at their limits cover all of its cells. For one key in six that
 * takes 65,536 keys at their limits at once, for one in 10,000 about 7,000.
 *
 * A bucket refills within a second, so nothing needs to be cleared.
 *
 * One thread counts at a time. A thread that is stopped for long while counting is overtaken.
 */
export class RateLimiter {
  readonly perSecond: number;
  readonly #cells: Float64Array;
  readonly #lock: Int32Array;
  readonly #seed: string;
  readonly #now: () => number;

  constructor({ perSecond, memory, now = monotonicSeconds }: RateLimiterOptions) {
    this.perSecond = perSecond;
    this.#cells = new Float64Array(memory.cells);
    this.#lock = new Int32Array(memory.lock);
    this.#seed = memory.seed;
    this.#now = now;
  }

  /**
   * Takes one request from a key's bucket.
   *
   * @returns 0; or, if the bucket is empty, the seconds until a request is allowed.
   */
  take(key: string): number {
    const places = this.#placesOf(key);
    const now = this.#now();
    this.#enter();
    const wait = this.#count(places, now);
    Atomics.store(this.#lock, 0, 0);
    return wait;
  }

  /** Waits until no other thread is counting. */
  #enter(): void {
    for (let tries = 0; tries < spins + napsMax; tries++) {
      if (Atomics.compareExchange(this.#lock, 0, 0, 1) === 0) return;
      if (tries >= spins) Atomics.wait(this.#lock, 0, 1, napMs);
    }
  }

  #count(places: readonly number[], now: number): number {
    const cells = this.#cells;
    let full = Number.POSITIVE_INFINITY;
    for (const place of places) full = Math.min(full, cells[place] ?? 0);
    const next = Math.max(full, now) + 1 / this.perSecond;
    const wait = next - (now + 1);
    if (wait > slack) return wait;
    for (const place of places) cells[place] = Math.max(cells[place] ?? 0, next);
    return 0;
  }

  #placesOf(key: string): number[] {
    const digest = hash("sha256", this.#seed + key, "buffer");
    const places: number[] = [];
    for (let row = 0; row < rows; row++) {
      places.push(row * cellsPerRow + (digest.readUInt32LE(4 * row) % cellsPerRow));
    }
    return places;
  }
}

/** Not `performance.now()`, which starts at 0 in each thread. */
function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds + nanoseconds / 1e9;
}
