import { add, observe } from "connect-gateway/metrics";
import type { CommitObserver, EndedCommit } from "../../store/commit-observer.ts";
import { commitPlaces as places } from "./layout.ts";

/** Counts and times commits. */
export class CommitMetrics implements CommitObserver {
  readonly #numbers: Float64Array;

  constructor(numbers: Float64Array) {
    this.#numbers = numbers;
  }

  queueChanged(rows: number, bytes: number): void {
    this.#numbers[places.queueRows] = rows;
    this.#numbers[places.queueBytes] = bytes;
  }

  commitEnded({ rows, durationMs, isFailed }: EndedCommit): void {
    observe(this.#numbers, places.commitSeconds, durationMs / 1000);
    observe(this.#numbers, places.commitRows, rows);
    if (isFailed) add(this.#numbers, places.commitsFailed, 1);
  }
}
