import type { CallConvention } from "./convention.ts";
import { grpcStatusOf, isServerError } from "./status-code.ts";

/** REST calls. */
export const httpConvention: CallConvention = {
  describeRequest({ pathTemplate, requestMethod }, scheme) {
    const method = methods.has(requestMethod) ? requestMethod : "_OTHER";
    const label = method === "_OTHER" ? "HTTP" : method;
    return {
      name: pathTemplate === undefined ? label : `${label} ${pathTemplate}`,
      attributes: {
        "http.request.method": method,
        "url.scheme": scheme,
        ...(pathTemplate !== undefined && { "http.route": pathTemplate }),
      },
    };
  },

  describeEnding(_, { code, status }) {
    const attributes = status === undefined ? {} : { "http.response.status_code": status };
    if (status !== undefined && status >= 500) return { attributes, errorType: String(status) };
    // A stream that started successfully and then failed.
    const isBroken = status !== undefined && status < 400 && isServerError(code);
    return { attributes, errorType: isBroken ? grpcStatusOf(code) : undefined };
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
  "QUERY",
  "TRACE",
]);
