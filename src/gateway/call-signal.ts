import { Code, ConnectError } from "@connectrpc/connect";
import type { Exchange } from "./exchange.ts";
import { onShutdown } from "./shutdown.ts";

export interface CallEnds {
  readonly exchange: Exchange;
  /** When the caller stops waiting, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly shutdownSignal: AbortSignal | undefined;
}

/**
 * The AbortSignal of a call, made when someone looks at it: it aborts when the
 * deadline passes, the client leaves, the server shuts down, or the call fails,
 * with the same reasons as in connect-es.
 *
 * A call that succeeds lets go of it, and leaves it as it is.
 */
export class CallSignal {
  readonly #ends: CallEnds;
  #controller: AbortController | undefined;
  #outcome: { readonly error?: unknown } | undefined;
  #unwatch: (() => void) | undefined;

  constructor(ends: CallEnds) {
    this.#ends = ends;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#outcome === undefined) this.#watch(this.#controller);
      else if ("error" in this.#outcome) this.#controller.abort(this.#outcome.error);
    }
    return this.#controller.signal;
  }

  /** The call has failed. */
  abort(error: unknown): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = { error };
    this.#unwatch?.();
    this.#controller?.abort(error);
  }

  /** The call has succeeded. */
  release(): void {
    this.#outcome ??= {};
    this.#unwatch?.();
  }

  #watch(controller: AbortController): void {
    const { exchange, deadline, shutdownSignal } = this.#ends;
    const abort = (reason: unknown) => {
      this.#unwatch?.();
      controller.abort(reason);
    };
    const onDeadline = () => abort(timedOut());
    const timeoutMs = deadline === undefined ? undefined : deadline - Date.now();
    if (timeoutMs !== undefined && timeoutMs <= 0) {
      onDeadline();
      return;
    }
    if (shutdownSignal?.aborted) {
      abort(shutdownSignal.reason);
      return;
    }
    if (exchange.isClosed) {
      abort(exchange.closeReason);
      return;
    }

    const timer = timeoutMs === undefined ? undefined : setTimeout(onDeadline, timeoutMs);
    const forgetClose = exchange.onceClosed(abort);
    const forgetShutdown = shutdownSignal && onShutdown(shutdownSignal, abort);
    // Not assigned as it is written: V8 puts a function literal that is assigned to
    // a property among the old objects, where it keeps all of its call until a full collection.
    const unwatch = () => {
      clearTimeout(timer);
      forgetClose();
      forgetShutdown?.();
    };
    this.#unwatch = unwatch;
  }
}

function timedOut(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}
