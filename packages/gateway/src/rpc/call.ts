import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type MethodImplSpec,
} from "@connectrpc/connect";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import { type parseTimeout, trailerMux } from "@connectrpc/connect/protocol-connect";
import type { Holding } from "../http/body-budget.ts";
import type { Abortable, Ending, Exchange, Head, Response } from "../http/exchange.ts";
import { LazyHeaders, type NodeHeaders, toNodeHeaders } from "../http/headers.ts";
import type { Endpoint } from "./endpoint.ts";
import { timerMaxMs } from "./options.ts";

export const protocolNames = ["rest", "connect", "grpc", "grpc-web", "mcp"] as const;

export type ProtocolName = (typeof protocolNames)[number];

export type Message = MessageShape<DescMessage>;

export type Awaitable<T> = T | Promise<T>;

/** What a protocol calls the headers of a call. */
export interface Terms {
  readonly protocol: ProtocolName;
  readonly timeout?: string;
  readonly parseTimeout?: typeof parseTimeout;
  readonly coding?: string;
  readonly acceptCoding?: string;
  /** The compression of the answer, if its messages say whether they are compressed. */
  readonly answerCoding?: string;
}

/** How one method is called by one protocol: reads requests, and writes answers. */
export interface Wire<P = unknown> {
  readonly spec: MethodImplSpec;
  readonly options: Endpoint["options"];
  readonly terms: Terms;
  /** The headers of the protocol in every answer. The application may add others. */
  readonly header: NodeHeaders;
  readonly trailer: NodeHeaders;
  /** Whether it writes messages that are unread. */
  readonly takesBytes?: boolean;
  read(call: Call<P>): Awaitable<Message>;
  write(call: Call<P>, message: Message): Awaitable<Response>;
  /** The response for an error, if nothing of an answer has been sent. */
  fail(call: Call<P>, error: unknown): Awaitable<Response>;
}

/** The same for a stream. A direction with a single message is read or written as above. */
export interface StreamWire<P = unknown> extends Wire<P> {
  readAll(call: Call<P>): AsyncIterable<Message>;
  /** Whether the head of an answer needs the first message. Others wait for it for `headDelayMs`. */
  needsMessage?(call: Call<P>): boolean;
  /** Bytes that clients ignore, written while there are no messages; undefined for nothing. */
  quiet?(call: Call<P>): { readonly chunk: Uint8Array; readonly everyMs: number } | undefined;
  head(call: Call<P>, first: Message | undefined): Head;
  chunk(call: Call<P>, message: Message): Awaitable<Uint8Array>;
  /** The end of the answer, with an error if there was one. Undefined if the protocol cannot report it. */
  end(call: Call<P>, failure: Failure | undefined): Awaitable<Ending> | undefined;
}

/** The first message may change the head of an answer. But some clients send nothing before the head. */
export const headDelayMs = 1000;

export type Failure = { readonly error: unknown };

interface CallInit<P> {
  /** What its protocol keeps of it. */
  readonly parts?: P;
  /** Why to reject it, after the gate has admitted it. */
  readonly refusal?: ConnectError | undefined;
  /** Whether it is admitted already, by the gate too. */
  readonly isAdmitted?: boolean;
  /** The compression of the request, where no header says it. */
  readonly coding?: string;
}

type Negotiated = ReturnType<typeof compressionNegotiate>;

const noParts = {};

const uncompressed: Negotiated = { request: null, response: null };

/**
 * One call. It is the request that interceptors get, and the context that the implementation gets, with
 * the properties of connect-es. These are own properties, so that `{ ...context }` includes them.
 *
 * It is also its own cancellation: it aborts when the deadline passes, the client leaves, the server
 * shuts down or the call fails, with the same reasons as in connect-es. A successful unary call never
 * aborts. A stream aborts at its end, as in connect-es. The AbortSignal is created on first use.
 */
export class Call<P = unknown> implements HandlerContext, Abortable {
  declare readonly method: DescMethod;
  declare readonly service: DescMethod["parent"];
  declare readonly requestMethod: string;
  declare readonly protocolName: string;
  declare readonly url: string;
  declare readonly values: ContextValues;
  declare readonly timeoutMs: () => number | undefined;
  declare readonly requestHeader: LazyHeaders;
  declare readonly responseHeader: LazyHeaders;
  declare readonly responseTrailer: LazyHeaders;
  declare readonly signal: AbortSignal;
  // Of the request:
  declare readonly stream: boolean;
  message: Message | AsyncIterable<Message> = noMessages;
  declare readonly header: LazyHeaders;
  declare readonly contextValues: ContextValues;

  /** Itself, in copies too. */
  readonly call: this = this;
  declare readonly wire: Wire<P>;
  declare readonly exchange: Exchange;
  declare readonly parts: P;
  declare readonly refusal: ConnectError | undefined;
  declare readonly isAdmitted: boolean;
  declare readonly compression: Negotiated;
  /** When the caller stops waiting, by `performance.now()`: the time of day may jump. */
  declare readonly deadline: number | undefined;
  /** Sends the head of an answer in messages. */
  sendHead: (() => void) | undefined;
  /** Whether it does not do so after a second. */
  holdsHead = false;

  aborted = false;
  private isOver = false;
  private cause: unknown;
  private controller: AbortController | undefined;
  private listeners: AbortListener[] | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** All calls that end with the server, and its place among them. */
  private siblings: Call[] | undefined;
  private place = 0;

  constructor(
    wire: Wire<P>,
    exchange: Exchange,
    values: ContextValues = createContextValues(),
    { parts, refusal, isAdmitted = false, coding }: CallInit<P> = noParts,
  ) {
    const { spec, options, terms } = wire;
    const { shutdownSignal, maxTimeoutMs } = options;
    // Only Set-Cookie may have several values.
    const headers = exchange.headers as Readonly<Record<string, string | undefined>>;
    const given = terms.timeout && headers[terms.timeout]?.slice(0, 100); // errors quote it
    const timeout = given === undefined ? undefined : terms.parseTimeout?.(given, maxTimeoutMs);
    const timeoutMs = timeout?.timeoutMs && Math.min(timeout.timeoutMs, timerMaxMs);
    const named = coding ?? (terms.coding && headers[terms.coding]);
    const asked = named === "identity" ? null : named?.slice(0, 100) || null; // "" for none
    const accepted = (terms.acceptCoding && headers[terms.acceptCoding]) ?? null;
    let compression = uncompressed;
    let { header } = wire;
    // As in grpc-go. grpc-js loses compressed messages that an error follows.
    const waitsToBeAsked = spec.kind !== "unary" && terms.protocol === "grpc";
    if (asked !== null || (accepted !== null && !waitsToBeAsked)) {
      const { acceptCompression: own } = options;
      compression = compressionNegotiate(own, asked, accepted, `${terms.acceptCoding}`);
      const { response, error } = compression;
      // The supported ones. connect-es leaves them out later, as a header of the protocol.
      if (error !== undefined) header = { ...header, ...Object.fromEntries(error.metadata) };
      if (terms.answerCoding !== undefined && response !== null) {
        header = { ...header, [terms.answerCoding]: response.name };
      }
    }
    this.method = spec.method;
    this.service = spec.method.parent;
    this.requestMethod = exchange.method;
    this.protocolName = terms.protocol;
    this.url = exchange.url;
    this.values = values;
    this.contextValues = values;
    this.requestHeader = new LazyHeaders(exchange.headers);
    this.header = this.requestHeader;
    this.responseHeader = new LazyHeaders(header);
    this.responseTrailer = new LazyHeaders(wire.trailer);
    this.stream = spec.kind !== "unary";
    this.wire = wire;
    this.exchange = exchange;
    this.parts = parts as P;
    this.refusal = refusal ?? compression.error ?? timeout?.error;
    this.isAdmitted = isAdmitted;
    this.compression = compression;
    Object.defineProperty(this, "signal", lazySignal);
    const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    this.deadline = deadline;
    this.timeoutMs = deadline === undefined ? noTimeout : msUntil.bind(undefined, deadline);
    if (shutdownSignal?.aborted) this.abort(shutdownSignal.reason);
    else if (exchange.isClosed || exchange.hasLeft) this.abort(exchange.closeReason);
    else {
      exchange.call = this;
      if (timeoutMs !== undefined) this.timer = setTimeout(() => this.abort(timedOut()), timeoutMs);
      if (shutdownSignal !== undefined) {
        this.siblings = callsOf.get(shutdownSignal) ?? listen(shutdownSignal);
        this.place = this.siblings.push(this as unknown as Call) - 1;
      }
    }
  }

  /** Counts the bytes that the call holds, including those of calls that it makes. */
  get holding(): Holding | undefined {
    return this.exchange.holding;
  }

  /** An AbortSignal always has one, even if it was given none. */
  get reason(): unknown {
    return this.signal.reason;
  }

  addEventListener(_type: "abort", listener: AbortListener): void {
    if (this.aborted) return;
    this.listeners ??= [];
    this.listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: AbortListener): void {
    const index = this.listeners?.indexOf(listener) ?? -1;
    if (index >= 0) this.listeners?.splice(index, 1);
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
    if (this.isOver) return;
    this.aborted = true;
    this.cause = reason;
    this.release();
    this.controller?.abort(reason);
    const { listeners = [] } = this;
    this.listeners = undefined;
    for (const listener of listeners) listener.handleEvent();
    this.exchange.stopReading(reason);
  }

  /**
   * Ends a call that has failed. Reports errors that are not meant for clients, unless they follow a
   * cancellation: they are usually its result. @returns the error for the client, or that reason.
   */
  fail(error: unknown): unknown {
    let ending = error;
    if (!(error instanceof ConnectError)) {
      if (!this.aborted) this.wire.options.onError?.(error);
      else if (this.reason instanceof ConnectError) ending = this.reason;
    }
    this.abort(ending);
    return ending;
  }

  release(): void {
    this.isOver = true;
    if (this.timer !== undefined) clearTimeout(this.timer);
    if (this.exchange.call === this) this.exchange.call = undefined;
    const { siblings, place } = this;
    if (siblings === undefined) return;
    const last = siblings.pop() as Call;
    this.siblings = undefined;
    if (place === siblings.length) return;
    siblings[place] = last;
    last.place = place;
  }

  /** @internal The signal, made on first use. */
  openSignal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort(this.cause);
    }
    return this.controller.signal;
  }
}

/** One accessor for all calls: V8 shares the shape of their objects. */
const lazySignal: PropertyDescriptor = {
  get(this: Call) {
    return this.call.openSignal();
  },
  enumerable: true,
  configurable: true,
};

/** Until the request is read. */
const noMessages: AsyncIterable<Message> = (async function* () {})();

/** Not 0 before it has passed: clients that it is passed to take that for no deadline. */
function msUntil(deadline: number): number {
  return Math.ceil(deadline - performance.now());
}

function noTimeout(): undefined {}

export function timedOut(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}

export interface AbortListener {
  handleEvent(): void;
}

/** The part of an `AbortSignal` that listeners need. */
export type Cancellation = Pick<
  Call,
  "aborted" | "reason" | "addEventListener" | "removeEventListener"
> & { readonly holding?: Holding | undefined };

/**
 * Reports the cancellation of a call like its signal, at half the cost. If an interceptor has put
 * another signal into the context, returns that one.
 */
export function cancellationOf(context: HandlerContext): Cancellation {
  return context instanceof Call ? context : context.signal;
}

/**
 * Sends the head of an answer in messages now, before its first message: its response headers can
 * no longer be changed. Without this call it leaves with the first message, or after a second. Does
 * nothing in a unary call, and where the head depends on the first message.
 */
export function sendHeaders(context: HandlerContext): void {
  (context as Partial<Call>).call?.sendHead?.();
}

/** Keeps such a head until its first message, or `sendHeaders`: for headers that come late. */
export function holdHeaders(context: HandlerContext): void {
  const { call } = context as Partial<Call>;
  if (call !== undefined) call.holdsHead = true;
}

/** Whether answers may be passed on unread. */
export function takesBytes(context: HandlerContext): boolean {
  return (context as Partial<Call>).call?.wire.takesBytes === true;
}

export const noTrailer = {};

/** The headers of an answer with its trailers, as fields `trailer-…`: so does Connect. */
export function headerWithTrailer({ responseHeader, responseTrailer }: Call): NodeHeaders {
  if (responseTrailer.source === noTrailer) return responseHeader.toNode();
  return toNodeHeaders(trailerMux(responseHeader, responseTrailer));
}

/**
 * The calls that a signal aborts, which outlives them. Not in a Set, nor as listeners of Node's, for
 * the reason that `StreamTable` has: collections would take several times as long.
 */
const callsOf = new WeakMap<AbortSignal, Call[]>();

function listen(signal: AbortSignal): Call[] {
  const calls: Call[] = [];
  callsOf.set(signal, calls);
  signal.addEventListener("abort", () => {
    for (const call of [...calls]) call.abort(signal.reason);
  });
  return calls;
}
