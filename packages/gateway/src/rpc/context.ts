import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type UnaryRequest,
} from "@connectrpc/connect";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import type { Holding } from "../http/body-budget.ts";
import type { Abortable, Exchange } from "../http/exchange.ts";
import { LazyHeaders, type NodeHeaders, toNodeHeaders } from "../http/headers.ts";
import { resolveUrl } from "../http/target.ts";

interface CallInit {
  readonly exchange: Exchange;
  readonly method: DescMethod;
  readonly protocolName: string;
  readonly timeoutMs: number | undefined;
  readonly shutdownSignal: AbortSignal | undefined;
  readonly contextValues: ContextValues | undefined;
  /** The headers of the protocol. The application may add others. */
  readonly responseHeader: NodeHeaders;
  readonly responseTrailer: NodeHeaders;
}

/** A timer over 2^31 - 1 ms fires at once. Nobody waits longer than these 24.8 days. */
const timerMaxMs = 2 ** 31 - 1;

const callSignal = Symbol("the signal, not yet made");

/**
 * The context of a call, with the properties of connect-es. Costly parts are created on first use:
 * headers when one is changed, the signal with its timer and listeners when it is read. The signal
 * is an own property, so that `{ ...context }` includes it.
 */
export class CallContext implements HandlerContext {
  readonly method: DescMethod;
  readonly service: DescMethod["parent"];
  readonly requestMethod: string;
  readonly protocolName: string;
  readonly url: string;
  readonly values: ContextValues;
  readonly timeoutMs: () => number | undefined;
  readonly requestHeader: LazyHeaders;
  readonly responseHeader: LazyHeaders;
  readonly responseTrailer: LazyHeaders;
  declare readonly signal: AbortSignal;
  readonly [callSignal]: CallSignal;

  constructor(init: CallInit) {
    const { exchange, method, shutdownSignal } = init;
    const timeoutMs = init.timeoutMs && Math.min(init.timeoutMs, timerMaxMs);
    this.method = method;
    this.service = method.parent;
    this.requestMethod = exchange.method;
    this.protocolName = init.protocolName;
    this.url = resolveUrl(exchange.origin, exchange.target);
    this.values = init.contextValues ?? createContextValues();
    this.requestHeader = new LazyHeaders(exchange.headers);
    this.responseHeader = new LazyHeaders(init.responseHeader);
    this.responseTrailer = new LazyHeaders(init.responseTrailer);
    const deadline = timeoutMs === undefined ? undefined : Math.trunc(Date.now() + timeoutMs);
    this.timeoutMs = deadline === undefined ? noTimeout : () => deadline - Date.now();
    this[callSignal] = new CallSignal({ exchange, deadline, shutdownSignal });
    Object.defineProperty(this, "signal", lazySignal);
  }

  /** Returns the value. If the call has a deadline and it passes first, rejects. */
  inTime<T>(value: T | Promise<T>): T | Promise<T> {
    const isWatched = this.timeoutMs !== noTimeout && value instanceof Promise;
    return isWatched ? this[callSignal].race(value) : value;
  }

  abort(error: unknown): void {
    this[callSignal].abort(error);
  }

  release(): void {
    this[callSignal].release();
  }
}

/**
 * Reports the cancellation of a call like its signal, at half the cost. If an interceptor has put
 * another signal into the context, returns that one.
 */
export function cancellationOf(context: HandlerContext): Cancellation {
  return context instanceof CallContext ? context[callSignal] : context.signal;
}

/** The same, for our own context. */
export function signalOf(context: CallContext): CallSignal {
  return context[callSignal];
}

/**
 * Sends the head of an answer in messages now, before its first message: its response headers can
 * no longer be changed. Without this call it leaves with the first message, or after a second. Does
 * nothing in a unary call, and where the head depends on the first message.
 */
export function sendHeaders(context: HandlerContext): void {
  (context as Partial<CallContext>)[callSignal]?.sendHead?.();
}

/** The request that interceptors get: a `UnaryRequest` or a `StreamRequest`. */
export class CallRequest {
  readonly stream: boolean;
  readonly message: MessageShape<DescMessage> | AsyncIterable<MessageShape<DescMessage>>;
  readonly method: UnaryRequest["method"];
  readonly service: DescMethod["parent"];
  readonly requestMethod: string;
  readonly url: string;
  readonly header: Headers;
  readonly contextValues: ContextValues;
  declare readonly signal: AbortSignal;
  readonly [callSignal]: CallSignal;

  constructor(context: CallContext, message: CallRequest["message"], isStream: boolean) {
    this.stream = isStream;
    this.message = message;
    this.method = context.method as UnaryRequest["method"];
    this.service = context.service;
    this.requestMethod = context.requestMethod;
    this.url = context.url;
    this.header = context.requestHeader;
    this.contextValues = context.values;
    this[callSignal] = context[callSignal];
    Object.defineProperty(this, "signal", lazySignal);
  }
}

/** One accessor for all calls: V8 shares the shape of their objects. */
const lazySignal: PropertyDescriptor = {
  get(this: { [callSignal]: CallSignal }) {
    return this[callSignal].signal;
  },
  enumerable: true,
  configurable: true,
};

function noTimeout(): undefined {
  return undefined;
}

export const noTrailer = {};

/**
 * The headers of an answer that include its trailers, as fields that begin with `trailer-`. Connect
 * does this for unary calls.
 */
export function headerWithTrailer({
  responseHeader,
  responseTrailer,
}: Pick<HandlerContext, "responseHeader" | "responseTrailer">): NodeHeaders {
  const isPlain = responseTrailer instanceof LazyHeaders && responseTrailer.toNode() === noTrailer;
  if (isPlain && responseHeader instanceof LazyHeaders) return responseHeader.toNode();
  return toNodeHeaders(trailerMux(responseHeader, responseTrailer));
}

interface CallEnds {
  readonly exchange: Exchange;
  /** When the caller stops waiting, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  readonly shutdownSignal: AbortSignal | undefined;
}

/**
 * The cancellation of a call. It aborts when the deadline passes, the client leaves, the server
 * shuts down or the call fails, with the same reasons as in connect-es. The AbortSignal is created
 * on first use: listening here costs half as much.
 *
 * A successful unary call never aborts it. A stream aborts it at its end, as in connect-es.
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

  /** Counts the bytes that the call holds, including those of calls that it makes. */
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

  /** Settles like the promise. Rejects with the reason if the call is aborted first. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const listener = { handleEvent: () => reject(this.reason) };
      // If it is aborted already, a result that is there still counts.
      if (this.aborted) setTimeout(listener.handleEvent);
      else this.addEventListener("abort", listener);
      const settled = () => this.removeEventListener("abort", listener);
      promise.then(resolve, reject).finally(settled);
    });
  }

  /** The call has failed or is cancelled, or a stream has ended. No reason means success. */
  abort(reason: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "aborted";
    this.#cause = reason;
    this.#unwatch();
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener.handleEvent();
    this.#listeners = noListeners;
  }

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

export interface AbortListener {
  handleEvent(): void;
}

/** The part of an `AbortSignal` that listeners need. */
export type Cancellation = Pick<
  CallSignal,
  "aborted" | "reason" | "addEventListener" | "removeEventListener"
> & { readonly holding?: Holding | undefined };

function timedOut(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}

/** A link of a ring, or a ring of its own. */
class Link {
  readonly call: Abortable | undefined;
  previous: Link = this;
  next: Link = this;

  /** @param call Undefined for the end of a ring. */
  constructor(call?: Abortable) {
    this.call = call;
  }

  insertBefore(next: Link): void {
    this.previous = next.previous;
    this.next = next;
    next.previous.next = this;
    next.previous = this;
  }

  remove(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    // Keep no references to its neighbours.
    this.previous = this;
    this.next = this;
  }
}

const ringEnds = new WeakMap<AbortSignal, Link>();

/**
 * Aborts a call when a signal aborts that outlives many calls, until the link is removed.
 *
 * Listens to the signal once for all calls, and keeps these in a ring. Not in a Set: when V8 replaces
 * a Set's table, the old table keeps the new one reachable. Once a table is in the old generation,
 * everything that passes through the Set gets there, and collections take several times as long.
 * Node's own list of listeners has the same flaw.
 */
function abortOnShutdown(signal: AbortSignal, call: Abortable): Link {
  const link = new Link(call);
  link.insertBefore(ringEnds.get(signal) ?? listen(signal));
  return link;
}

/** @returns the end of the ring. */
function listen(signal: AbortSignal): Link {
  const end = new Link();
  ringEnds.set(signal, end);
  signal.addEventListener("abort", () => {
    while (end.next !== end) {
      const { next } = end;
      next.remove();
      next.call?.abort(signal.reason);
    }
  });
  return end;
}
