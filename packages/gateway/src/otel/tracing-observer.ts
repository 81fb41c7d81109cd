import { type ContextKey, createContextKey } from "@connectrpc/connect";
import {
  type Context,
  defaultTextMapGetter,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { CallObserver, ObservedRequest } from "../adapter/observer.ts";
import { assertOptions } from "../rpc/options.ts";
import {
  describeEnding,
  describeForSpan,
  describeRequest,
  type Scheme,
  schemes,
} from "./convention.ts";

export interface TracingObserverOptions {
  readonly tracer: Tracer;
  /**
   * Reads the caller's context from the headers. Default: the global one, which `NodeSDK` or
   * `propagation.setGlobalPropagator` sets. Without one, every call starts its own trace.
   */
  readonly propagator?: Pick<TextMapPropagator, "extract">;
  /** `url.scheme` of REST calls. Default: `http`. */
  readonly scheme?: Scheme;
}

export interface TracingObserver extends CallObserver {
  /** The span of a request that this observer has seen, sampled or not. For logs. */
  spanContextOf(request: ObservedRequest): SpanContext | undefined;
}

/**
 * The context of a call, in its context values: its span, and the baggage that the propagator read.
 * Default: the root context, for calls that are not traced. Use it as the parent of your own spans:
 *
 * ```ts
 * async getVolume({ name }, { values }) {
 *   const span = tracer.startSpan("read volume", {}, values.get(callContextKey));
 * ```
 *
 * With a context manager (`NodeSDK` registers one), an interceptor can make it the active context
 * of unary calls. Then the spans of drivers and clients become children of the call's span:
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
 * Creates a span of kind `SERVER` for every request, as a child of the caller's span if it names
 * one. gRPC, gRPC-Web and Connect follow the RPC conventions, REST the HTTP conventions.
 *
 * Spans never contain queries, bodies, paths other than the route's, or headers other than the host
 * and those that the propagator reads.
 */
export function createTracingObserver(options: TracingObserverOptions): TracingObserver {
  const kinds = { tracer: "object", propagator: "object", scheme: schemes } as const;
  assertOptions("createTracingObserver", options, kinds);
  const { tracer, propagator = propagation, scheme = "http" } = options;
  const spanContexts = new WeakMap<ObservedRequest, SpanContext>();

  return {
    begin(request) {
      const { name, attributes } = describeRequest(request, scheme);
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
      const described = {
        kind: SpanKind.SERVER,
        attributes: { ...attributes, ...describeForSpan(request) },
      };
      const span = tracer.startSpan(name, described, caller);
      spanContexts.set(request, span.spanContext());
      const context = trace.setSpan(caller, span);
      return {
        // Also for calls that are not sampled: spans below them must not start their own traces.
        calling: (values) => void values.set(callContextKey, context),
        end(ending) {
          if (!span.isRecording()) return;
          const { attributes: ended, errorType } = describeEnding(request, ending);
          span.setAttributes(ended);
          if (errorType !== undefined) {
            span.setAttribute("error.type", errorType);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    spanContextOf: (request) => spanContexts.get(request),
  };
}
