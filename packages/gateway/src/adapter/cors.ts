/** Cross-origin requests of browsers: https://fetch.spec.whatwg.org/#http-cors-protocol. */
import { cors } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import type { NodeHeaders } from "../http/headers.ts";
import { assertOptions } from "../rpc/options.ts";

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
 * Marks the answer for the origin that asks, where it may. Answers a preflight.
 *
 * @param allow The methods that the path has.
 */
export type ApplyCors = (exchange: Exchange, allow: readonly string[]) => void;

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
  const allowedHeaders = listOf(
    cors.allowedHeaders,
    ["Authorization", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"],
    options.allowedHeaders,
  );
  const exposedHeaders = listOf(
    cors.exposedHeaders,
    ["WWW-Authenticate", "Retry-After"],
    options.exposedHeaders,
  );

  function headersFor(exchange: Exchange, allow: readonly string[]): NodeHeaders {
    const { origin } = exchange.headers;
    const vary = { vary: "origin" };
    if (origin === undefined || !(isForAll || origins.has(String(origin)))) return vary;
    const allowed = { ...vary, "access-control-allow-origin": isForAll ? "*" : String(origin) };
    if (!isPreflight(exchange)) {
      return { ...allowed, "access-control-expose-headers": exposedHeaders };
    }
    return {
      ...allowed,
      "access-control-allow-methods": allow.join(", "),
      "access-control-allow-headers": allowedHeaders,
      "access-control-max-age": String(maxAgeSeconds),
    };
  }

  return (exchange, allow) => {
    const header = headersFor(exchange, allow);
    if (isPreflight(exchange)) exchange.respond({ status: 204, header, body: "" });
    else exchange.addHeader(header);
  };
}

function listOf(...lists: readonly (readonly string[] | undefined)[]): string {
  return lists.flatMap((list) => list ?? []).join(", ");
}

/** Whether a request is a preflight: it asks whether another one may follow. */
export function isPreflight({ method, headers }: Exchange): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
