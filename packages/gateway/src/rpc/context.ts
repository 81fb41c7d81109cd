import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import {
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type UnaryRequest,
} from "@connectrpc/connect";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../http/exchange.ts";
import { LazyHeaders, type NodeHeaders, toNodeHeaders } from "../http/headers.ts";
import { resolveUrl } from "../http/target.ts";
import { CallSignal, type Cancellation } from "./signal.ts";

export interface CallInit {
  readonly exchange: Exchange;
  readonly method: DescMethod;
  readonly protocolName: string;
  readonly timeoutMs: number | undefined;
  readonly shutdownSignal: AbortSignal | undefined;
  readonly contextValues: ContextValues | undefined;
  /** What the protocol itself answers; the application may add. */
  readonly responseHeader: NodeHeaders;
  readonly responseTrailer: NodeHeaders;
}

/** A timer over 2^31 - 1 ms fires at once. Nobody waits longer than these 24.8 days. */
const timerMaxMs = 2 ** 31 - 1;

const callSignal = Symbol("the signal, not yet made");

/**
 * The context of a call, as connect-es makes it. What costs, and what few
 * look at, is made when it is looked at: headers when one is changed, the signal
 * with its timer and listeners when it is taken. It is an own property all the
 * same, so that `{ ...context }` has it.
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

  /** The same; where the call has a deadline, it rejects when that passes before. */
  inTime<T>(value: T | Promise<T>): T | Promise<T> {
    const isWatched = this.timeoutMs !== noTimeout && value instanceof Promise;
    return isWatched ? this[callSignal].race(value) : value;
  }

  /** The call has failed: its signal says so. */
  abort(error: unknown): void {
    this[callSignal].abort(error);
  }

  /** The call has succeeded: nothing is held any more. */
  release(): void {
    this[callSignal].release();
  }
}

/**
 * What a call's signal says, for half the cost to those who only listen to it.
 * Where an interceptor has put another signal into the context, that.
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

/** What interceptors get: a `UnaryRequest`, or a `StreamRequest`. */
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

/** The trailers of a call before the application adds any. */
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
