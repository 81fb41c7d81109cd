import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { callContextKey, isServerError } from "connect-gateway/otel";

/** A span of what remains of a call here: the wait for a commit. Not of calls rejected earlier. */
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
