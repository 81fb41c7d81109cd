import { type Obstacle, obstacles } from "../../plant.ts";

/** The part of a service that its main thread tells about: the store, and whether it drains. */
export const mainPart = 0;

/** For what no part says. */
const none = 0;

/**
 * What keeps a service of several threads from taking plants: memory that all of
 * them share, so that each answers the same. One part for the main thread, and
 * one for each serving thread, counted from 1.
 */
export class Readiness {
  readonly memory: SharedArrayBuffer;
  readonly #parts: Int32Array;

  private constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#parts = new Int32Array(memory);
  }

  /** All parts begin ready. */
  static create(threads: number): Readiness {
    const bytes = (1 + threads) * Int32Array.BYTES_PER_ELEMENT;
    return new Readiness(new SharedArrayBuffer(bytes));
  }

  /** That of another thread. */
  static share(memory: SharedArrayBuffer): Readiness {
    return new Readiness(memory);
  }

  set(part: number, obstacle: Obstacle | undefined): void {
    const number = obstacle === undefined ? none : 1 + obstacles.indexOf(obstacle);
    Atomics.store(this.#parts, part, number);
  }

  /** That of the first part that has one. */
  obstacle(): Obstacle | undefined {
    for (let part = 0; part < this.#parts.length; part++) {
      const number = Atomics.load(this.#parts, part);
      if (number !== none) return obstacles[number - 1];
    }
    return undefined;
  }
}
