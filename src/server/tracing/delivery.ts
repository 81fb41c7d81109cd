import { setTimeout as delay } from "node:timers/promises";

/** How sending once has ended. */
export type Attempt =
  | { readonly kind: "delivered" }
  | { readonly kind: "refused"; readonly error: Error }
  /** It may be tried again. @property afterMs What the receiver has asked for. */
  | { readonly kind: "failed"; readonly error: Error; readonly afterMs: number | undefined };

/** Of waits between attempts: the first, and how they grow. */
const firstWaitMs = 1000;
const waitGrowth = 1.5;

/** One batch on its way: tried until it is there, refused, or out of time. */
export class Delivery {
  /** Resolves in any case: to the last error, if it was not delivered. */
  readonly ended: Promise<Error | undefined>;
  readonly #hurry = new AbortController();
  readonly #cutOff = new AbortController();

  /** @param send Sends the batch; its signal ends that. What it throws may be tried again. */
  constructor(send: (signal: AbortSignal) => Promise<Attempt>, timeoutMs: number) {
    const outOfTime = setTimeout(() => this.cutOff(), timeoutMs);
    this.ended = this.#run(send).finally(() => clearTimeout(outOfTime));
  }

  /** From now on it is tried once: at once, where it waits to be tried again. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** Gives up. */
  cutOff(): void {
    this.#cutOff.abort(new Error("there was no answer in time"));
    this.hurry();
  }

  async #run(send: (signal: AbortSignal) => Promise<Attempt>): Promise<Error | undefined> {
    const { signal } = this.#cutOff;
    for (let waitMs = firstWaitMs; ; waitMs *= waitGrowth) {
      const wasHurried = this.#hurry.signal.aborted;
      const attempt = await send(signal).catch(failureOf);
      if (attempt.kind === "delivered") return undefined;
      if (attempt.kind === "refused" || wasHurried) return attempt.error;
      // Servers of one store that have lost their collector together do not come back together.
      const jitter = 0.8 + 0.4 * Math.random();
      const pause = attempt.afterMs ?? waitMs * jitter;
      await delay(pause, undefined, { signal: this.#hurry.signal }).catch(ignore);
      if (signal.aborted) return attempt.error;
    }
  }
}

function failureOf(reason: unknown): Attempt {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  return { kind: "failed", error, afterMs: undefined };
}

function ignore(): void {}
