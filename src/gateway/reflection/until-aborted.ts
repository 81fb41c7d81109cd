import { abortOnShutdown } from "../call/shutdown.ts";

/**
 * What comes, until the signal aborts: then throws its reason at once, whether
 * or not anything is still to come.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // it may abort while nobody waits
  const waiting = abortOnShutdown(signal, { abort: aborted.reject });
  try {
    const iterator = items[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    waiting.remove();
  }
}
