import { quantile } from "../statistics.ts";

/** Stores every latency of a run, so that quantiles are exact. */
export class Latencies {
  #values = new Float64Array(2 ** 16);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = ms;
  }

  quantiles(): { readonly p50Ms: number; readonly p99Ms: number } {
    const sorted = this.#values.subarray(0, this.#count).sort();
    return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
  }
}
