import type { CommitObserver } from "./commit-observer.ts";
import { heapBytesMin } from "./heap-bytes.ts";
import type { CommitLimits } from "./options.ts";

/** Tracks what waits for a commit, and limits it. */
export class WaitingRoom {
  readonly #limits: CommitLimits;
  readonly #observer: CommitObserver | undefined;
  #rows = 0;
  #bytes = 0;

  constructor(limits: CommitLimits, observer: CommitObserver | undefined) {
    this.#limits = limits;
    this.#observer = observer;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return (
      this.#rows < this.#limits.waitingRowsMax &&
      this.#bytes + bytes <= this.#limits.waitingBytesMax
    );
  }

  /** Whether even the smallest plant would be rejected now. */
  get isFull(): boolean {
    return !this.hasRoomFor(heapBytesMin);
  }

  enter(bytes: number): void {
    this.#change(1, bytes);
  }

  leave(rows: number, bytes: number): void {
    this.#change(-rows, -bytes);
  }

  #change(rows: number, bytes: number): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#observer?.queueChanged(this.#rows, this.#bytes);
  }
}
