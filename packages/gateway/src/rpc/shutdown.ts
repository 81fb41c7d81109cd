import type { Abortable } from "../http/exchange.ts";
import { type Link, LinkedList } from "./linked-list.ts";

const waitersOf = new WeakMap<AbortSignal, LinkedList<Abortable>>();

/**
 * Aborts something when a signal aborts that outlives many calls. It listens to the
 * signal once for all of them: Node's own list of listeners has the flaw that
 * {@link LinkedList} tells of.
 *
 * @returns what stops that.
 */
export function abortOnShutdown(signal: AbortSignal, waiter: Abortable): Link {
  const waiters = waitersOf.get(signal) ?? listen(signal);
  return waiters.append(waiter);
}

function listen(signal: AbortSignal): LinkedList<Abortable> {
  const waiters = new LinkedList<Abortable>();
  waitersOf.set(signal, waiters);
  signal.addEventListener("abort", () => {
    for (const waiter of waiters) waiter.abort(signal.reason);
  });
  return waiters;
}
