import { hash, randomBytes } from "node:crypto";

/** What a limiter remembers. It can be handed to other threads: they count together. */
export interface RateLimitMemory {
  readonly cells: SharedArrayBuffer;
  /** 1 while a thread counts, else 0. */
  readonly lock: SharedArrayBuffer;
  /** Keeps it unknown to clients which keys share cells. */
  readonly seed: string;
}

export interface RateLimiterOptions {
  /** Requests a second for one key; as many may come at once. */
  readonly perSecond: number;
  readonly memory: RateLimitMemory;
  /** Seconds, from anywhere, that never go back; the same for all who share the memory. */
  readonly now?: () => number;
}

/** A key has a cell in each row. */
const rows = 4;

/** A power of two. With 8 bytes each, all rows together take 2 MiB. */
const cellsPerRow = 65_536;

/** The clock and sums of thirds are not exact; no request waits for a microsecond. */
const slack = 1e-6;

/** To count takes less than a microsecond, unless the system takes the processor away meanwhile. */
const spins = 1000;
const napMs = 0.1;

/** Behind these, the thread that counts is taken for dead: one may be stopped anywhere. */
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
 * A token bucket for each key, in memory that does not grow, however many keys
 * there are.
 *
 * A bucket is one number: the time at which it will be full again (the virtual
 * scheduling of ITU-T I.371, known as GCRA). The numbers stand in a count-min
 * sketch with conservative update (Estan and Varghese, 2002): a key has a cell in
 * each row, which it shares with others; the least of its cells is its number, or
 * a later one. So nothing is ever thrown out, and no other keys, however many, can
 * make a key forget what it has used. They can use up what it has, by being at
 * their own limits in all of its cells: for one key in six that takes 65,536 keys
 * at their limits at the same time, for one in ten thousand about 7,000.
 *
 * A bucket is full after a second, so all that was not used in the last second is
 * free by itself, and nothing has to be cleared away.
 *
 * Threads count one at a time. Who is stopped for long while it counts is overtaken.
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
   * Takes one request of a key's.
   *
   * @returns 0; or, with nothing taken, the seconds until there will be one.
   */
  take(key: string): number {
    const places = this.#placesOf(key);
    const now = this.#now();
    this.#enter();
    const wait = this.#count(places, now);
    Atomics.store(this.#lock, 0, 0);
    return wait;
  }

  /** Waits until no other thread counts. */
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

/** `performance.now()` begins anew in each thread. */
function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds + nanoseconds / 1e9;
}
