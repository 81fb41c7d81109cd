import type { ContextValues } from "@connectrpc/connect";
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { CallEnding, CallObservation, CallObserver, ObservedRequest } from "connect-gateway";
import { httpConvention } from "./http-convention.ts";
import { rpcConvention } from "./rpc-convention.ts";
import type { SpanConvention } from "./span-convention.ts";
import { callSpanKey } from "./store-spans.ts";

/** Makes a span of every call: below that of its caller, if the caller traces. */
export class CallSpans implements CallObserver {
  readonly #tracer: Tracer;
  readonly #scheme: "http" | "https";
  readonly #traceIds = new WeakMap<ObservedRequest, string>();

  /** @param scheme What the port speaks. */
  constructor(tracer: Tracer, scheme: "http" | "https") {
    this.#tracer = tracer;
    this.#scheme = scheme;
  }

  begin(request: ObservedRequest): CallObservation | undefined {
    const convention = request.protocol === "rest" ? httpConvention : rpcConvention;
    const { name, attributes } = convention.describeRequest(request, this.#scheme);
    const caller = propagator.extract(ROOT_CONTEXT, request.headers, headerGetter);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, caller);
    this.#traceIds.set(request, span.spanContext().traceId);
    return span.isRecording() ? new SpannedCall(span, request, convention) : undefined;
  }

  traceIdOf(request: ObservedRequest): string | undefined {
    return this.#traceIds.get(request);
  }
}

const propagator = new W3CTraceContextPropagator();

const headerGetter = {
  get: (headers: ObservedRequest["headers"], name: string) => headers[name],
  keys: (headers: ObservedRequest["headers"]) => Object.keys(headers),
};

class SpannedCall implements CallObservation {
  readonly #span: Span;
  readonly #request: ObservedRequest;
  readonly #convention: SpanConvention;

  constructor(span: Span, request: ObservedRequest, convention: SpanConvention) {
    this.#span = span;
    this.#request = request;
    this.#convention = convention;
  }

  calling(values: ContextValues): void {
    values.set(callSpanKey, this.#span);
  }

  end(ending: CallEnding): void {
    const { attributes, errorType } = this.#convention.describeEnding(this.#request, ending);
    this.#span.setAttributes(attributes);
    if (errorType !== undefined) {
      this.#span.setAttribute("error.type", errorType);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}
