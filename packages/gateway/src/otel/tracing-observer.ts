/** Spans by the semantic conventions of OpenTelemetry 1.45 (https://opentelemetry.io/docs/specs/semconv/). */
import { Code, type ContextKey, createContextKey } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import * as otel from "@opentelemetry/api";
import type { CallEnding, CallObserver, ObservedRequest } from "../adapter/observer.ts";
import type { ProtocolName } from "../rpc/call.ts";
import { codeNameOf, methodNameOf } from "../rpc/call-names.ts";
import { assertOptions } from "../rpc/options.ts";

export interface TracingObserverOptions {
  readonly tracer: otel.Tracer;
  /**
   * Reads the caller's context from the headers. Default: the global one, which `NodeSDK` or
   * `propagation.setGlobalPropagator` sets. Without one, every call starts its own trace.
   */
  readonly propagator?: Pick<otel.TextMapPropagator, "extract">;
  /** `url.scheme` of REST calls. Default: `http`. */
  readonly scheme?: Scheme;
}

export interface TracingObserver extends CallObserver {
  /** The span of a request that this observer has seen, sampled or not. For logs. */
  spanContextOf(request: ObservedRequest): otel.SpanContext | undefined;
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
export const callContextKey: ContextKey<otel.Context> = createContextKey(otel.ROOT_CONTEXT, {
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
  const kinds = { tracer: "object", propagator: "object", scheme: "one of http, https" } as const;
  assertOptions("createTracingObserver", options, kinds, ["tracer"]);
  const { tracer, propagator = otel.propagation, scheme = "http" } = options;
  const spanContexts = new WeakMap<ObservedRequest, otel.SpanContext>();

  return {
    begin(request) {
      const { name, attributes } = describeRequest(request, scheme);
      const { headers } = request;
      const caller = propagator.extract(otel.ROOT_CONTEXT, headers, otel.defaultTextMapGetter);
      const span = tracer.startSpan(name, { kind: otel.SpanKind.SERVER, attributes }, caller);
      spanContexts.set(request, span.spanContext());
      const context = otel.trace.setSpan(caller, span);
      return {
        // Also for calls that are not sampled: spans below them must not start their own traces.
        calling: (values) => void values.set(callContextKey, context),
        end(ending) {
          if (!span.isRecording()) return;
          const ended = describeEnding(request, ending);
          span.setAttributes(ended);
          if ("error.type" in ended) span.setStatus({ code: otel.SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    spanContextOf: (request) => spanContexts.get(request),
  };
}

/** The scheme that clients use. If a proxy terminates TLS, the scheme between client and proxy. */
export type Scheme = "http" | "https";

/** Whether its calls are requests of HTTP first. */
function isHttp(protocol: ProtocolName): boolean {
  return protocol === "rest" || protocol === "mcp";
}

/** The name of a call's span, and attributes available to a sampler. */
function describeRequest(
  { protocol, method, pathTemplate, requestMethod, headers, peerAddress }: ObservedRequest,
  scheme: Scheme,
): { readonly name: string; readonly attributes: otel.Attributes } {
  const [, host, port] =
    authority.exec(String(headers[":authority"] ?? headers["host"] ?? "")) ?? [];
  const peer = peerAddress();
  const ends = {
    ...(host !== undefined && { "server.address": host }),
    ...(port !== undefined && { "server.port": Number(port) }),
    ...(peer !== undefined && { "network.peer.address": peer }),
  };
  if (!isHttp(protocol)) {
    const system = protocol === "connect" ? "connectrpc" : "grpc";
    const called = method && methodNameOf(method);
    const attributes = { "rpc.system.name": system, "rpc.method": called ?? "_OTHER", ...ends };
    return { name: called ?? system, attributes };
  }
  const isKnown = httpMethods.test(requestMethod);
  const label = isKnown ? requestMethod : "HTTP";
  // A path with variables, or an unknown one, may contain anything: ids, names, tokens.
  const isFixed = pathTemplate !== undefined && !/[{*]/.test(pathTemplate);
  return {
    name: pathTemplate === undefined ? label : `${label} ${pathTemplate}`,
    attributes: {
      "http.request.method": isKnown ? requestMethod : "_OTHER",
      "url.scheme": scheme,
      ...(pathTemplate !== undefined && { "http.route": pathTemplate }),
      ...(isFixed && { "url.path": pathTemplate }),
      ...ends,
    },
  };
}

/** A name or address of at most the DNS length, and a port. */
const authority = /^([\w.-]{1,253}|\[[\dA-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;

function describeEnding(request: ObservedRequest, ending: CallEnding): otel.Attributes {
  const { protocol } = request;
  const { code, status } = ending;
  if (!isHttp(protocol)) {
    // Connect has no code for success.
    const name = protocol === "connect" ? code && codeToString(code) : codeNameOf(code);
    if (name === undefined) return {};
    return { "rpc.status_code": name, ...(isServerError(code) && { "error.type": name }) };
  }
  if (status === undefined) return {};
  // A stream that started successfully and then failed.
  const failed = status < 400 && isServerError(code) ? codeNameOf(code) : undefined;
  const errorType = status >= 500 ? String(status) : failed;
  const own = { "http.response.status_code": status };
  return errorType === undefined ? own : { ...own, "error.type": errorType };
}

const httpMethods = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|QUERY|TRACE)$/;

/** Whether the service failed, not the caller. Spans of such calls have the status ERROR. */
export function isServerError(code: Code | undefined): boolean {
  return code !== undefined && serverErrors.has(code);
}

const serverErrors: ReadonlySet<Code> = new Set([
  ...[Code.Unknown, Code.DeadlineExceeded, Code.Unimplemented],
  ...[Code.Internal, Code.Unavailable, Code.DataLoss],
]);
