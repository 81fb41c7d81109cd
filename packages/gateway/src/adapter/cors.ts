/** Cross-origin requests of browsers: https://fetch.spec.whatwg.org/#http-cors-protocol. */
import { cors } from "@connectrpc/connect";
import { assertOptions } from "../rpc/option-kinds.ts";
import type { NodeHandler } from "../http/node-handler.ts";

export interface CorsOptions {
  /** Origins that may call, for example `https://example.com`; `*` for any. */
  readonly origins: readonly string[];
  /** Request headers that pages may send, beside those of the protocols and `Authorization`. */
  readonly allowedHeaders?: readonly string[];
  /** Response headers that pages may read, beside those of the protocols and of errors. */
  readonly exposedHeaders?: readonly string[];
  /** How long a browser may remember a preflight, in seconds. Default 2 hours, the most that all keep. */
  readonly maxAgeSeconds?: number;
}

/**
 * Marks the response for the origin that asks, where it may.
 *
 * @param allow The methods that the path has.
 * @returns whether the request was a preflight, and is answered.
 */
export type ApplyCors = (node: Parameters<NodeHandler>, allow: readonly string[]) => boolean;

export function createCors(options: CorsOptions): ApplyCors {
  assertOptions("cors", options, {
    origins: "list",
    allowedHeaders: "list",
    exposedHeaders: "list",
    maxAgeSeconds: "number",
  });
  const { maxAgeSeconds = 7200 } = options;
  const origins = new Set(options.origins);
  const isForAll = origins.has("*");
  const allowedHeaders = listOf(cors.allowedHeaders, ["Authorization"], options.allowedHeaders);
  const exposedHeaders = listOf(
    cors.exposedHeaders,
    ["WWW-Authenticate", "Retry-After"],
    options.exposedHeaders,
  );

  return ([request, response], allow) => {
    const { origin } = request.headers;
    const isPreflight = isPreflightRequest(request);
    response.setHeader("vary", "origin");
    if (origin !== undefined && (isForAll || origins.has(origin))) {
      response.setHeader("access-control-allow-origin", isForAll ? "*" : origin);
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
  };
}

function listOf(...lists: readonly (readonly string[] | undefined)[]): string {
  return lists.flatMap((list) => list ?? []).join(", ");
}

/** Whether a request is a preflight: it asks whether another one may follow. */
export function isPreflightRequest({ method, headers }: Parameters<NodeHandler>[0]): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
