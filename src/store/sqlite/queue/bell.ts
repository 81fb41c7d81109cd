const word = { rings: 0, isBroken: 1 } as const;

/** Wakes the thread that consumes queues, and tells all threads when it commits nothing any more. */
export class Bell {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  private constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  static create(): Bell {
    return new Bell(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  }

  /** That of another thread. */
  static share(memory: SharedArrayBuffer): Bell {
    return new Bell(memory);
  }

  ring(): void {
    Atomics.add(this.#words, word.rings, 1);
    Atomics.notify(this.#words, word.rings);
  }

  /** For {@link wait}: to be read before one looks for work. */
  get rings(): number {
    return Atomics.load(this.#words, word.rings);
  }

  /** Blocks the thread until the bell has rung since `rings` was read. */
  wait(rings: number): void {
    Atomics.wait(this.#words, word.rings, rings);
  }

  /** Nothing will be committed any more. Its queues are to be notified. */
  break(): void {
    Atomics.store(this.#words, word.isBroken, 1);
  }

  get isBroken(): boolean {
    return Atomics.load(this.#words, word.isBroken) !== 0;
  }
}
