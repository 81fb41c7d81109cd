import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import {
  type Context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
} from "../adapter/observer.ts";
import type { CallConvention, Scheme } from "./convention.ts";
import { conventionOf } from "./convention-of.ts";
import { describeForSpan } from "./span-attributes.ts";

export interface TracingObserverOptions {
  /** Makes the spans. */
  readonly tracer: Tracer;
  /**
   * Reads the caller's context from the headers. Default: the global one, which `NodeSDK` or
   * `propagation.setGlobalPropagator` sets. Without any, every call begins a trace of its own.
   */
  readonly propagator?: Pick<TextMapPropagator, "extract">;
  /** `url.scheme` of REST. Default: `http`. */
  readonly scheme?: Scheme;
}

export interface TracingObserver extends CallObserver {
  /** The span of a request that this observer was told of, sampled or not: for logs. */
  spanContextOf(request: ObservedRequest): SpanContext | undefined;
}

/**
 * The context of a call, in its values: its span, and the baggage that the propagator read.
 * Default: the root context, for calls that nobody traces. It is the parent of spans of yours:
 *
 * ```ts
 * async getVolume({ name }, { values }) {
 *   const span = tracer.startSpan("read volume", {}, values.get(callContextKey));
 * ```
 *
 * With a context manager (`NodeSDK` registers one) an interceptor makes it the active context of
 * unary calls, so that the spans of drivers and clients stand below that of the call:
 *
 * ```ts
 * const inCall: Interceptor = (next) => (request) =>
 *   context.with(request.contextValues.get(callContextKey), () => next(request));
 * ```
 */
export const callContextKey: ContextKey<Context> = createContextKey(ROOT_CONTEXT, {
  description: "the context of the call in OpenTelemetry",
});

/**
 * Makes a span of the kind `SERVER` for every request, below the caller's if it names one:
 * by the RPC conventions for gRPC, gRPC-Web and Connect, by those of HTTP for REST.
 *
 * Never in a span are queries, bodies, paths but for the route's, and headers but for the
 * host and what the propagator takes.
 */
export function createTracingObserver(options: TracingObserverOptions): TracingObserver {
  const { tracer, propagator = propagation, scheme = "http" } = options;
  const spanContexts = new WeakMap<ObservedRequest, SpanContext>();

  return {
    begin(request) {
      const convention = conventionOf(request.protocol);
      const { name, attributes } = convention.describeRequest(request, scheme);
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, headerGetter);
      const described = {
        kind: SpanKind.SERVER,
        attributes: { ...attributes, ...describeForSpan(request) },
      };
      const span = tracer.startSpan(name, described, caller);
      spanContexts.set(request, span.spanContext());
      return new TracedCall({ span, context: trace.setSpan(caller, span), request, convention });
    },
    spanContextOf: (request) => spanContexts.get(request),
  };
}

const headerGetter = {
  get: (headers: ObservedRequest["headers"], name: string) => headers[name],
  keys: (headers: ObservedRequest["headers"]) => Object.keys(headers),
};

interface TracedCallParts {
  readonly span: Span;
  readonly context: Context;
  readonly request: ObservedRequest;
  readonly convention: CallConvention;
}

class TracedCall implements CallObservation {
  readonly #parts: TracedCallParts;

  constructor(parts: TracedCallParts) {
    this.#parts = parts;
  }

  /** Also what is not sampled: spans below it must not begin traces of their own. */
  calling(values: ContextValues): void {
    values.set(callContextKey, this.#parts.context);
  }

  end(ending: CallEnding): void {
    const { span, request, convention } = this.#parts;
    if (!span.isRecording()) return;
    const { attributes, errorType } = convention.describeEnding(request, ending);
    span.setAttributes(attributes);
    if (errorType !== undefined) {
      span.setAttribute("error.type", errorType);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}
