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
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // it may abort while nobody waits
  const waiting = abortOnShutdown(signal, { abort: aborted.reject });
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      signal.throwIfAborted();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    waiting.remove();
    // It may still be at work: nobody waits for it.
    void iterator.return?.().catch(() => {});
  }
}
