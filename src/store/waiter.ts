import type { Cancellation, NewPlant } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";

/**
 * One caller: what it wants stored, and how it hears of it.
 *
 * No function is assigned to a property where it is written: V8 puts such a one
 * among the old objects, where it holds all that it sees until a full collection.
 */
export class Waiter {
  /** Let go of when its caller gives up before its turn comes. */
  plant: NewPlant | undefined;
  readonly bytes: number;
  readonly #resolve: (outcome: RowOutcome) => void;
  readonly #reject: (reason: unknown) => void;
  #onLeave: (() => void) | undefined;
  #signal: Cancellation | undefined;
  #onAbort: (() => void) | undefined;

  constructor(
    plant: NewPlant,
    bytes: number,
    resolve: (outcome: RowOutcome) => void,
    reject: (reason: unknown) => void,
  ) {
    this.plant = plant;
    this.bytes = bytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Calls back, in place of an earlier listener, when its signal aborts. */
  whenLeaving(listener: () => void): void {
    this.#onLeave = listener;
  }

  watch(signal: Cancellation): void {
    const onAbort = () => {
      this.#onLeave?.();
      this.reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort);
    this.#signal = signal;
    this.#onAbort = onAbort;
  }

  resolve(outcome: RowOutcome): void {
    this.#unwatch();
    this.#resolve(outcome);
  }

  reject(reason: unknown): void {
    this.#unwatch();
    this.#reject(reason);
  }

  #unwatch(): void {
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#signal = undefined;
    this.#onAbort = undefined;
  }
}
