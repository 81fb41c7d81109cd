import type { AbortListener, Cancellation, NewPlant } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";

/** A caller, with the plant it wants stored and its pending result. */
export class Waiter implements AbortListener {
  /** Dropped if the caller gives up before its turn. */
  plant: NewPlant | undefined;
  readonly bytes: number;
  /** Called when the caller gives up. */
  onLeave: (waiter: Waiter) => void;
  readonly #signal: Cancellation | undefined;
  readonly #settled = Promise.withResolvers<RowOutcome>();

  constructor(
    plant: NewPlant,
    bytes: number,
    onLeave: (waiter: Waiter) => void,
    signal: Cancellation | undefined,
  ) {
    this.plant = plant;
    this.bytes = bytes;
    this.onLeave = onLeave;
    this.#signal = signal;
    signal?.addEventListener("abort", this);
  }

  get outcome(): Promise<RowOutcome> {
    return this.#settled.promise;
  }

  /** The caller's signal has aborted. */
  handleEvent(): void {
    this.onLeave(this);
    this.reject(this.#signal?.reason);
  }

  resolve(outcome: RowOutcome): void {
    this.#signal?.removeEventListener("abort", this);
    this.#settled.resolve(outcome);
  }

  reject(reason: unknown): void {
    this.#signal?.removeEventListener("abort", this);
    this.#settled.reject(reason);
  }
}
