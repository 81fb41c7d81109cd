import { type Obstacle, obstacles } from "../../plant.ts";

/** The main thread's part: the store, and the drain. */
export const mainPart = 0;

/** No obstacle. */
const none = 0;

/**
 * What prevents a service of several threads from creating plants, in memory that its threads share,
 * so that all give the same answer. Part 0 is the main thread's. Serving threads count from 1.
 */
export class Readiness {
  readonly memory: SharedArrayBuffer;
  readonly #parts: Int32Array;

  private constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#parts = new Int32Array(memory);
  }

  /** All parts start ready. */
  static create(threads: number): Readiness {
    const bytes = (1 + threads) * Int32Array.BYTES_PER_ELEMENT;
    return new Readiness(new SharedArrayBuffer(bytes));
  }

  /** Uses the memory of another thread. */
  static share(memory: SharedArrayBuffer): Readiness {
    return new Readiness(memory);
  }

  set(part: number, obstacle: Obstacle | undefined): void {
    const number = obstacle === undefined ? none : 1 + obstacles.indexOf(obstacle);
    Atomics.store(this.#parts, part, number);
  }

  /** The obstacle of the first part that has one. */
  obstacle(): Obstacle | undefined {
    for (let part = 0; part < this.#parts.length; part++) {
      const number = Atomics.load(this.#parts, part);
      if (number !== none) return obstacles[number - 1];
    }
    return undefined;
  }
}
