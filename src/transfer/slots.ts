/** Limits concurrent work by number and by bytes. One caller at a time waits. */
export class Slots {
  readonly #max: { readonly count: number; readonly bytes: number };
  #count = 0;
  #bytes = 0;
  #released: PromiseWithResolvers<void> | undefined;

  constructor(max: { readonly count: number; readonly bytes: number }) {
    this.#max = max;
  }

  /** Waits for room. An item above the limit waits until it is alone. */
  async take(bytes: number): Promise<void> {
    while (
      this.#count > 0 &&
      (this.#count >= this.#max.count || this.#bytes + bytes > this.#max.bytes)
    ) {
      this.#released = Promise.withResolvers();
      await this.#released.promise;
    }
    this.#count++;
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#count--;
    this.#bytes -= bytes;
    this.#released?.resolve();
  }

  /** Waits until nothing is under way. */
  async empty(): Promise<void> {
    while (this.#count > 0) {
      this.#released = Promise.withResolvers();
      await this.#released.promise;
    }
  }
}
