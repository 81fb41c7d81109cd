/** How a streaming call ends, for observers: handlers of connect-es tell it to nobody but its signal. */
import { Code, ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";

/** How one call ends; in its context values, for {@link watchOutcome} to find. */
export class StreamOutcome {
  #context: Pick<HandlerContext, "signal"> | undefined;
  #requestSignal: AbortSignal | undefined;

  /** @param requestSignal Aborts when the client leaves, or has got all. */
  expect(requestSignal: AbortSignal): void {
    this.#requestSignal = requestSignal;
  }

  begin(context: Pick<HandlerContext, "signal">): void {
    this.#context = context;
  }

  /** The code of the call, once the exchange is over. */
  code({ code, status, isWhole }: ExchangeEnd): Code | undefined {
    const signal = this.#context?.signal;
    if (signal === undefined) return code === Code.Canceled ? codeOfStatus(status) : code;
    const reason: unknown = signal.reason;
    // The first reason stays: a call that has ended is not aborted by the close of its exchange.
    if (!signal.aborted || reason === this.#requestSignal?.reason) return Code.Canceled;
    if (reason instanceof ConnectError) return reason.code;
    // What connect-es ends a call with that has succeeded.
    const isSuccess = reason instanceof DOMException && reason.name === "AbortError";
    if (isSuccess) return undefined;
    // The error of a write to a client that has left ends a call, too.
    return isWhole ? Code.Internal : code;
  }
}

/** What the exchange of a stream tells at its end. */
export interface ExchangeEnd {
  /** Its own: of what it has refused or broken off, `Canceled` for the rest. */
  readonly code: Code | undefined;
  /** That was answered, if one was. */
  readonly status: number | undefined;
  /** Whether the answer came to its end. */
  readonly isWhole: boolean;
}

export const streamOutcomeKey = createContextKey<StreamOutcome | undefined>(undefined, {
  description: "how a stream ends",
});

type Gate = NonNullable<UniversalHandlerOptions["requestGate"]>;

/** A gate that lets the outcome of each call see its context, and then does what `gate` does. */
export function watchOutcome(gate: Gate | undefined): Gate {
  return (context) => {
    context.values.get(streamOutcomeKey)?.begin(context);
    return gate?.(context);
  };
}

/** Of an answer before there was a call. */
function codeOfStatus(status: number | undefined): Code {
  switch (status) {
    case undefined:
      return Code.Canceled;
    case 415:
      return Code.InvalidArgument;
    case 405:
    case 505:
      return Code.Unimplemented;
    default:
      return Code.Internal;
  }
}
