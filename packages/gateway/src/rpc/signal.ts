import { Code, ConnectError } from "@connectrpc/connect";
import type { Holding } from "../http/body-budget.ts";
import type { Abortable, Exchange } from "../http/exchange.ts";
import { type Link, LinkedList } from "./linked-list.ts";

export interface CallEnds {
  readonly exchange: Exchange;
  /** When the caller stops waiting, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly shutdownSignal: AbortSignal | undefined;
}

/**
 * How a call is given up, and the AbortSignal that says so, made when someone
 * looks at it: it aborts when the deadline passes, the client leaves, the server
 * shuts down, or the call fails, with the same reasons as in connect-es. Who only
 * listens does so here, for half the cost.
 *
 * A unary call that succeeds lets go of it, and leaves it as it is. That of a stream aborts when
 * the stream has ended, as in connect-es.
 */
export class CallSignal implements Abortable {
  readonly #ends: CallEnds;
  #state: "open" | "aborted" | "released" = "open";
  #cause: unknown;
  #controller: AbortController | undefined;
  #listeners: readonly AbortListener[] = noListeners;
  #isWatched = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shutdown: Link | undefined;
  /** Sends the head of an answer in messages. */
  sendHead: (() => void) | undefined;

  constructor(ends: CallEnds) {
    this.#ends = ends;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.#cause);
    }
    return this.#controller.signal;
  }

  /** What counts the bytes that the call holds, those of calls that it makes included. */
  get holding(): Holding | undefined {
    return this.#ends.exchange.holding;
  }

  get aborted(): boolean {
    this.#watch();
    return this.#state === "aborted";
  }

  /** An AbortSignal always has one, even if it was given none. */
  get reason(): unknown {
    return this.signal.reason;
  }

  addEventListener(_type: "abort", listener: AbortListener): void {
    if (!this.aborted) this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: AbortListener): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }

  /** The same, or the reason for which the call is given up before. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const listener = { handleEvent: () => reject(this.reason) };
      this.addEventListener("abort", listener);
      const settled = () => this.removeEventListener("abort", listener);
      promise.then(resolve, reject).finally(settled);
    });
  }

  /** The call has failed or is given up, or a stream has ended: without a reason, well. */
  abort(reason: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "aborted";
    this.#cause = reason;
    this.#unwatch();
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener.handleEvent();
    this.#listeners = noListeners;
  }

  /** The call has succeeded. */
  release(): void {
    if (this.#state === "open") this.#state = "released";
    this.#unwatch();
  }

  #watch(): void {
    if (this.#isWatched || this.#state !== "open") return;
    this.#isWatched = true;
    const { exchange, deadline, shutdownSignal } = this.#ends;
    const timeoutMs = deadline === undefined ? undefined : deadline - Date.now();
    if (timeoutMs !== undefined && timeoutMs <= 0) this.abort(timedOut());
    else if (shutdownSignal?.aborted) this.abort(shutdownSignal.reason);
    else if (exchange.isClosed || exchange.hasLeft) this.abort(exchange.closeReason);
    else {
      if (timeoutMs !== undefined) {
        this.#timer = setTimeout(() => this.abort(timedOut()), timeoutMs);
      }
      this.#shutdown = shutdownSignal && abortOnShutdown(shutdownSignal, this);
      exchange.call = this;
    }
  }

  #unwatch(): void {
    if (!this.#isWatched) return;
    clearTimeout(this.#timer);
    this.#shutdown?.remove();
    this.#ends.exchange.call = undefined;
  }
}

const noListeners: readonly AbortListener[] = [];

/** An `EventListenerObject`. */
export interface AbortListener {
  handleEvent(): void;
}

/** As much of an `AbortSignal` as it takes to listen to one. */
export type Cancellation = Pick<
  CallSignal,
  "aborted" | "reason" | "addEventListener" | "removeEventListener"
> & { readonly holding?: Holding | undefined };

function timedOut(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}

const waitersOf = new WeakMap<AbortSignal, LinkedList<Abortable>>();

/**
 * Aborts something when a signal aborts that outlives many calls. It listens to the
 * signal once for all of them: Node's own list of listeners has the flaw that
 * {@link LinkedList} tells of.
 *
 * @returns what stops that.
 */
function abortOnShutdown(signal: AbortSignal, waiter: Abortable): Link {
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
