import { LinkedList } from "./linked-list.ts";

type Listener = (reason: unknown) => void;

const listenersOf = new WeakMap<AbortSignal, LinkedList<Listener>>();

/**
 * Calls back when a signal aborts that outlives many calls. It listens to the
 * signal once for all of them: Node's own list of listeners has the flaw that
 * {@link LinkedList} tells of.
 *
 * @returns what stops that.
 */
export function onShutdown(signal: AbortSignal, listener: Listener): () => void {
  const listeners = listenersOf.get(signal) ?? listen(signal);
  return listeners.append(listener).remove;
}

function listen(signal: AbortSignal): LinkedList<Listener> {
  const listeners = new LinkedList<Listener>();
  listenersOf.set(signal, listeners);
  signal.addEventListener("abort", () => {
    for (const listener of listeners) listener(signal.reason);
  });
  return listeners;
}
