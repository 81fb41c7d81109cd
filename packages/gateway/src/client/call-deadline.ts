import { Code, ConnectError } from "@connectrpc/connect";
import type { Cancellation } from "../rpc/call.ts";
import { timerMaxMs } from "../rpc/options.ts";

/** Ends a call when its deadline passes, or when its caller cancels it. */
export class CallDeadline {
  readonly #at: number | undefined;
  #cancellation: Cancellation | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #error: ConnectError | undefined;
  /** Called once, when the call ends by this. */
  onEnd: ((error: ConnectError) => void) | undefined;

  constructor(timeoutMs = Number.POSITIVE_INFINITY, cancellation?: Cancellation) {
    this.#cancellation = cancellation;
    // A longer one is treated as none, as is 0 in all transports of Connect.
    if (timeoutMs > 0 && timeoutMs <= timerMaxMs) {
      this.#at = performance.now() + timeoutMs;
      this.#timer = setTimeout(() => this.#end(timedOut()), timeoutMs);
    }
    if (cancellation === undefined) return;
    if (cancellation.aborted) this.handleEvent();
    else cancellation.addEventListener("abort", this);
  }

  /** The time left, in whole milliseconds; undefined without a deadline. */
  get remainingMs(): number | undefined {
    return this.#at && Math.floor(this.#at - performance.now());
  }

  /** Undefined while it goes on. Timers may be late, and servers count in whole milliseconds. */
  get error(): ConnectError | undefined {
    if (this.#error !== undefined || this.#at === undefined) return this.#error;
    return (this.remainingMs ?? 0) < 1 ? timedOut() : undefined;
  }

  /** Listens for the caller's abort, as an `EventListenerObject`. */
  handleEvent(): void {
    const reason = this.#cancellation?.reason;
    this.#end(reason instanceof ConnectError ? reason : canceled(reason));
  }

  /** An error or a stream may keep it for longer than the call. */
  release(): void {
    clearTimeout(this.#timer);
    this.#cancellation?.removeEventListener("abort", this);
    this.#cancellation = undefined;
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
