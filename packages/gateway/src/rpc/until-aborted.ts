import type { Cancellation } from "./signal.ts";

/**
 * What comes, until the call is given up: then throws its reason at once, whether or not anything
 * is still to come, and also where that ends because of it.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  cancellation: Cancellation,
): AsyncGenerator<T> {
  const waiting = new Waiting(cancellation);
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await waiting.for(iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    waiting.end();
    // It may still be at work, and this wait for a reader: neither waits for the other.
    void iterator.return?.().catch(() => {});
  }
}

/** Waits for one thing after another, until the call is given up. */
export class Waiting {
  readonly #cancellation: Cancellation;
  // One promise for all would keep something of each until it settles.
  #giveUp: ((reason: unknown) => void) | undefined;

  constructor(cancellation: Cancellation) {
    this.#cancellation = cancellation;
    cancellation.addEventListener("abort", this);
  }

  /** @throws the reason, if the call is given up before, or when it comes. */
  for<T>(promise: Promise<T>): Promise<T> {
    const cancellation = this.#cancellation;
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (cancellation.aborted) reject(cancellation.reason);
      promise.then((value) => {
        if (cancellation.aborted) reject(cancellation.reason);
        else resolve(value);
      }, reject);
    });
  }

  end(): void {
    this.#cancellation.removeEventListener("abort", this);
  }

  handleEvent(): void {
    this.#giveUp?.(this.#cancellation.reason);
  }
}
