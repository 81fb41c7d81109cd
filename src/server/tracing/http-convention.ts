import { codeNameOf } from "../call-names.ts";
import { describeConnection, isServerError, type SpanConvention } from "./span-convention.ts";

/** Calls of REST. */
export const httpConvention: SpanConvention = {
  describeRequest(request, scheme) {
    const { pathTemplate, requestMethod } = request;
    const method = methods.has(requestMethod) ? requestMethod : "_OTHER";
    const label = method === "_OTHER" ? "HTTP" : method;
    return {
      name: pathTemplate === undefined ? label : `${label} ${pathTemplate}`,
      attributes: {
        "http.request.method": method,
        "url.scheme": scheme,
        // A path that leads nowhere may be anything; the one of a route is the route.
        ...(pathTemplate !== undefined && { "http.route": pathTemplate, "url.path": pathTemplate }),
        ...describeConnection(request),
      },
    };
  },

  describeEnding(_, { code, status }) {
    const attributes = status === undefined ? {} : { "http.response.status_code": status };
    if (status !== undefined && status >= 500) return { attributes, errorType: String(status) };
    // What was begun well and broken off.
    const isBroken = status !== undefined && status < 400 && isServerError(code);
    return { attributes, errorType: isBroken ? codeNameOf(code) : undefined };
  },
};

const methods: ReadonlySet<string> = new Set([
  "CONNECT",
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
  "TRACE",
]);
