/** Cross-origin requests of browsers: https://fetch.spec.whatwg.org/#http-cors-protocol. */
import { cors } from "@connectrpc/connect";
import type { NodeHandler } from "./node-handler.ts";

export interface CorsOptions {
  /** Origins that may call, for example `https://example.com`; `*` for any. */
  readonly origins: readonly string[];
  /** How long a browser may remember a preflight, in seconds. Default 2 hours, the most that all keep. */
  readonly maxAgeSeconds?: number;
}

const allowedHeaders = [...cors.allowedHeaders, "Authorization"].join(", ");
const exposedHeaders = [...cors.exposedHeaders, "WWW-Authenticate", "Retry-After"].join(", ");

/**
 * Marks the response for the origin that asks, where it may.
 *
 * @param allow The methods that the path has.
 * @returns whether the request was a preflight, and is answered.
 */
export function applyCors(
  { origins, maxAgeSeconds = 7200 }: CorsOptions,
  [request, response]: Parameters<NodeHandler>,
  allow: readonly string[],
): boolean {
  const { origin } = request.headers;
  const isPreflight =
    request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
  response.setHeader("vary", "origin");
  if (origin !== undefined && (origins.includes("*") || origins.includes(origin))) {
    response.setHeader("access-control-allow-origin", origin);
    if (isPreflight) {
      response.setHeader("access-control-allow-methods", allow.join(", "));
      response.setHeader("access-control-allow-headers", allowedHeaders);
      response.setHeader("access-control-max-age", String(maxAgeSeconds));
    } else {
      response.setHeader("access-control-expose-headers", exposedHeaders);
    }
  }
  if (isPreflight) {
    response.writeHead(204);
    response.end();
  }
  return isPreflight;
}
