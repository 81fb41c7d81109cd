import { LinkedList } from "../rpc/linked-list.ts";

/** Notifies waiters when a server's readiness changes. */
export interface ReadinessWatch {
  /** Resolves when the readiness differs from `ready`, or when the signal aborts. */
  untilNot(ready: boolean, signal: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly ready: boolean;
  readonly wake: () => void;
}

/** The longest delay before a change is reported. Stores and threads have no event for it. */
const intervalMs = 250;

/**
 * Polls only while someone waits, once for all of them.
 *
 * @param draining When it aborts, all waiters are notified at once.
 */
export function createReadinessWatch(
  isReady: () => boolean,
  draining: AbortSignal,
): ReadinessWatch {
  const waiting = new LinkedList<Waiting>();
  let count = 0;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const now = isReady();
    for (const { ready, wake } of waiting) {
      if (ready !== now || draining.aborted) wake();
    }
  }

  function begin(entry: Waiting): () => void {
    const link = waiting.append(entry);
    count++;
    timer ??= setInterval(look, intervalMs).unref();
    return () => {
      link.remove();
      if (--count > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }

  draining.addEventListener("abort", look);
  return {
    async untilNot(ready, signal) {
      if (signal.aborted || draining.aborted || isReady() !== ready) return;
      const woken = Promise.withResolvers<void>();
      const wake = () => woken.resolve();
      const end = begin({ ready, wake });
      signal.addEventListener("abort", wake);
      await woken.promise;
      signal.removeEventListener("abort", wake);
      end();
    },
  };
}
