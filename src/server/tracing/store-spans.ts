import {
  ConnectError,
  type ContextKey,
  createContextKey,
  type Interceptor,
} from "@connectrpc/connect";
import { ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { isServerError } from "./span-convention.ts";

/** The span of a call, in its values; undefined where it is not sampled. */
export const callSpanKey: ContextKey<Span | undefined> = createContextKey<Span | undefined>(
  undefined,
  { description: "the span of the call" },
);

/**
 * A span of what is left of a call behind this interceptor: the wait for a
 * commit. What was refused before has none.
 */
export function spanStore(tracer: Tracer): Interceptor {
  return (next) => async (request) => {
    const call = request.contextValues.get(callSpanKey);
    if (call === undefined) return await next(request);
    const span = tracer.startSpan("store.create", {}, trace.setSpan(ROOT_CONTEXT, call));
    try {
      return await next(request);
    } catch (error) {
      if (isServerError(ConnectError.from(error).code)) {
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      throw error;
    } finally {
      span.end();
    }
  };
}
