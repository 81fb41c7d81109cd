/** The part of a service that its main thread tells about: the store, and whether it drains. */
export const mainPart = 0;

/**
 * Whether a service of several threads would take plants: memory that all of
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
    const readiness = new Readiness(new SharedArrayBuffer(bytes));
    readiness.#parts.fill(1);
    return readiness;
  }

  /** That of another thread. */
  static share(memory: SharedArrayBuffer): Readiness {
    return new Readiness(memory);
  }

  set(part: number, isReady: boolean): void {
    Atomics.store(this.#parts, part, isReady ? 1 : 0);
  }

  isReady(): boolean {
    for (let part = 0; part < this.#parts.length; part++) {
      if (Atomics.load(this.#parts, part) === 0) return false;
    }
    return true;
  }
}
