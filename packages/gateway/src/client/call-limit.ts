import { Code, ConnectError } from "@connectrpc/connect";
import type { Cancellation } from "../rpc/signal.ts";

/** A timer over 2^31 - 1 ms fires at once; who waits longer than these 24 days waits for ever. */
const timerMaxMs = 2 ** 31 - 1;

export interface CallEnd {
  readonly timeoutMs: number | undefined;
  readonly cancellation: Cancellation | undefined;
}

/** When a call is given up: its deadline passes, or its caller leaves. */
export class CallLimit {
  readonly #deadline: number | undefined;
  readonly #cancellation: Cancellation | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #error: ConnectError | undefined;
  /** Told once, when the call is given up. */
  onEnd: ((error: ConnectError) => void) | undefined;

  constructor({ timeoutMs, cancellation }: CallEnd) {
    this.#cancellation = cancellation;
    if (timeoutMs !== undefined && timeoutMs <= timerMaxMs) {
      this.#deadline = performance.now() + timeoutMs;
      this.#timer = setTimeout(() => this.#end(timedOut()), Math.max(0, timeoutMs));
      if (timeoutMs < 1) this.#error = timedOut();
    }
    if (cancellation === undefined) return;
    if (cancellation.aborted) this.handleEvent();
    else cancellation.addEventListener("abort", this);
  }

  /** As much time as is left, in whole milliseconds; undefined for any. */
  get remainingMs(): number | undefined {
    return this.#deadline && Math.floor(this.#deadline - performance.now());
  }

  /**
   * Why the call is given up; undefined while it is not. Timers may be late, and a server that was told
   * whole milliseconds ends the call up to one before.
   */
  get error(): ConnectError | undefined {
    if (this.#error !== undefined || this.#deadline === undefined) return this.#error;
    return (this.remainingMs ?? 0) < 1 ? timedOut() : undefined;
  }

  /** An `EventListenerObject`, for the abort of the caller. */
  handleEvent(): void {
    const reason = this.#cancellation?.reason;
    this.#end(reason instanceof ConnectError ? reason : canceled(reason));
  }

  /** The call is over. */
  release(): void {
    clearTimeout(this.#timer);
    this.#cancellation?.removeEventListener("abort", this);
    this.onEnd = undefined;
  }

  #end(error: ConnectError): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    clearTimeout(this.#timer);
    this.onEnd?.(error);
  }
}

function timedOut(): ConnectError {
  return new ConnectError("no answer in time", Code.DeadlineExceeded);
}

function canceled(cause: unknown): ConnectError {
  return new ConnectError("the call was canceled", Code.Canceled, undefined, undefined, cause);
}
