import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { callContextKey, isServerError } from "connect-gateway/otel";

/**
 * A span of what is left of a call behind this interceptor: the wait for a
 * commit. What was refused before has none.
 */
export function spanStore(tracer: Tracer): Interceptor {
  return (next) => async (request) => {
    const span = tracer.startSpan("store.create", {}, request.contextValues.get(callContextKey));
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
