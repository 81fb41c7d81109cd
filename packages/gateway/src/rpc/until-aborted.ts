import { abortOnShutdown } from "./shutdown.ts";

/**
 * What comes, until the signal aborts: then throws its reason at once, whether
 * or not anything is still to come, and also where that ends because of it.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  signal.throwIfAborted();
  const iterator = items[Symbol.asyncIterator]();
  // One promise for all items would keep something of each until it settles.
  let giveUp: ((reason: unknown) => void) | undefined;
  const waiting = abortOnShutdown(signal, {
    abort(reason) {
      giveUp?.(reason);
      end();
    },
  });
  // It may still be at work, and this wait for a reader: neither waits for the other.
  const end = () => void iterator.return?.().catch(() => {});
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject;
        iterator.next().then(resolve, reject);
      });
      signal.throwIfAborted();
      if (next.done === true) return;
      yield next.value;
      signal.throwIfAborted();
    }
  } finally {
    waiting.remove();
    end();
  }
}
