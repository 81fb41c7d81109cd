import type { Interceptor } from "@connectrpc/connect";
import { trace } from "@opentelemetry/api";
import { callContextKey } from "connect-gateway/otel";

/** Makes the span of a call the parent of its upstream's: `traceparent`, W3C Trace Context, section 3.2. */
export const passOnSpan: Interceptor = (next) => (request) => {
  const span = trace.getSpanContext(request.contextValues.get(callContextKey));
  if (span !== undefined) {
    const flags = span.traceFlags.toString(16).padStart(2, "0");
    request.header.set("traceparent", `00-${span.traceId}-${span.spanId}-${flags}`);
  }
  return next(request);
};
