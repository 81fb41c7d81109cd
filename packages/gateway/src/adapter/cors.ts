/** Cross-origin requests: https://fetch.spec.whatwg.org/#http-cors-protocol. */
import { Code, cors } from "@connectrpc/connect";
import { RestFailure } from "../errors/http.ts";
import { type Exchange, headerOf } from "../http/exchange.ts";
import type { HeaderRecord } from "../http/headers.ts";
import { isRebindable } from "../http/target.ts";
import type { Route } from "../rpc/face.ts";
import { assertOptions, optionKinds } from "../rpc/options.ts";

export interface CorsOptions {
  /** Origins that may call, for example `https://example.com`; `*` for any. */
  readonly origins: readonly string[];
  /** Request headers that pages may send, in addition to those of the protocols and `Authorization`. */
  readonly allowedHeaders?: readonly string[];
  /** Response headers that pages may read, in addition to those of the protocols and of errors. */
  readonly exposedHeaders?: readonly string[];
  /**
   * Whether pages may send cookies and client certificates, and read the answers. Not with `*`: any
   * page could then act for its user. Default: no.
   */
  readonly credentials?: boolean;
  /** How long browsers may cache a preflight, in seconds. Default: 2 hours, the maximum of all browsers. */
  readonly maxAgeSeconds?: number;
}

const kinds = optionKinds<CorsOptions>()({
  "list of strings": "origins allowedHeaders exposedHeaders",
  boolean: "credentials",
  "number from 0": "maxAgeSeconds",
});

/**
 * @returns the headers to add to an answer, or those that answer a preflight. Without a route, any
 * method is allowed: so pages can read why it is refused.
 */
export function createCors(options: CorsOptions) {
  assertOptions("cors", options, kinds, ["origins"]);
  const { maxAgeSeconds = 7200, credentials = false } = options;
  const problem = findOriginProblem(options.origins);
  if (problem !== undefined) throw new TypeError(`cors.origins ${problem}`);
  const origins = new Set(options.origins);
  const isForAll = origins.has("*");
  for (const name of ["allowedHeaders", "exposedHeaders"] as const) {
    const wrong = findHeaderProblem(options[name] ?? []);
    if (wrong !== undefined) throw new TypeError(`cors.${name} ${wrong}`);
  }
  if (isForAll && credentials) throw new TypeError("cors.credentials needs origins by name, not *");
  const allowedHeaders = [
    ...cors.allowedHeaders,
    // Traced pages, or pages that set request ids, send these: https://www.w3.org/TR/trace-context/
    ...["Authorization", "Traceparent", "Tracestate", "X-Request-Id", "If-None-Match"],
    // Clients of gRPC-Web for .NET send these.
    ...["Grpc-Encoding", "Grpc-Accept-Encoding", "Grpc-Previous-Rpc-Attempts"],
    ...["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"],
    ...(options.allowedHeaders ?? []),
  ].join(", ");
  const exposedHeaders = [
    ...cors.exposedHeaders,
    ...["WWW-Authenticate", "Retry-After", "X-Request-Id", "ETag", "Allow", "Accept-Query"],
    ...["Grpc-Encoding", "Grpc-Retry-Pushback-Ms"],
    ...(options.exposedHeaders ?? []),
  ].join(", ");

  return (request: Pick<Exchange, "method" | "path" | "headers">, route?: Pick<Route, "allow">) => {
    const { origin, [askedMethod]: asked } = request.headers;
    const header: HeaderRecord = { vary: "origin" };
    if (origin !== undefined && (isForAll || origins.has(String(origin)))) {
      header["access-control-allow-origin"] = isForAll ? "*" : String(origin);
      if (credentials) header["access-control-allow-credentials"] = "true";
      if (isPreflight(request)) {
        header["access-control-allow-methods"] = route?.allow(request.path).join(", ") || asked;
        header["access-control-allow-headers"] = allowedHeaders;
        header["access-control-max-age"] = String(maxAgeSeconds);
      } else header["access-control-expose-headers"] = exposedHeaders;
    }
    return header;
  };
}

const askedMethod = "access-control-request-method";

/**
 * Asserts that the page of a request may call, where browsers do not check it. The Host of a page
 * that DNS rebinding has brought here is that of its Origin, too: a name is not believed then.
 * @throws {RestFailure} 403.
 */
export function assertOrigin(exchange: Exchange, origins: readonly string[]): void {
  const origin = headerOf(exchange, "origin");
  if (origin === null || origins.includes(origin) || origins.includes("*")) return;
  const own = URL.parse(exchange.url);
  if (origin === own?.origin && !isRebindable(own.host)) return;
  throw new RestFailure(403, Code.PermissionDenied, "pages of this Origin must not call");
}

export function isPreflight({ method, headers }: Pick<Exchange, "method" | "headers">): boolean {
  return method === "OPTIONS" && headers[askedMethod] !== undefined;
}

/** What is wrong with a list of origins, which are compared as text; undefined if nothing is. */
export function findOriginProblem(origins: readonly string[]): string | undefined {
  const wrong = origins.find((origin) => (origin === "*" ? origins.length > 1 : !isOrigin(origin)));
  if (wrong === undefined) return undefined;
  return `must be origins like https://app.example, or * alone: ${wrong}`;
}

/** What is wrong with a list of names of headers; undefined if nothing is. */
export function findHeaderProblem(names: readonly string[]): string | undefined {
  const wrong = names.find((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name));
  return wrong === undefined ? undefined : `must be names of headers: ${wrong}`;
}

/** In the form that browsers send: https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin. */
function isOrigin(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || text.includes("*")) return false;
  if (/^https?:$/.test(parsed.protocol)) return parsed.origin === text;
  // Origins of apps and extensions, which URL cannot parse.
  return /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/.test(text);
}
