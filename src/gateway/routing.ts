import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { createCodecs } from "./codec.ts";
import type { Endpoint } from "./endpoint.ts";
import type { RequestTarget } from "./request-target.ts";
import { createRestRoutes } from "./rest/handler.ts";
import type { RestSettings } from "./rest/options.ts";
import { createRpcHandler } from "./rpc.ts";
import type { UnaryHandler } from "./unary.ts";

/** What serves a request. */
export type Route =
  /** A unary call: takes the short way. */
  | { readonly kind: "unary"; readonly serve: UnaryHandler; readonly allow: readonly string[] }
  /** Any other call. */
  | { readonly kind: "stream"; readonly serve: StreamHandler; readonly allow: readonly string[] }
  | {
      readonly kind: "method_not_allowed";
      readonly isRpc: boolean;
      readonly allow: readonly string[];
    }
  | { readonly kind: "not_found"; readonly allow: readonly [] };

type StreamHandler = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

/** Finds what serves a method and target. */
export type FindRoute = (method: string, target: RequestTarget) => Route;

const notFound: Route = { kind: "not_found", allow: [] };

/**
 * The routes of all protocols, below `prefix`: a path of RPC goes before one of
 * REST.
 *
 * @throws {RuleError} for an option of `google.api.http` that cannot be served.
 */
export function createRoutes(
  endpoints: readonly Endpoint[],
  prefix: string,
  settings: RestSettings,
): FindRoute {
  const rpcRoutes = new Map(
    endpoints.map((endpoint) => [prefix + endpoint.rpc.requestPath, rpcRoute(endpoint)]),
  );
  const restRoutes = createRestRoutes(endpoints, settings);

  function findRest(method: string, { path, query }: RequestTarget): Route {
    if (!path.startsWith(prefix)) return notFound;
    const match = restRoutes.match(method, path.slice(prefix.length));
    switch (match.kind) {
      case "found": {
        const { value, segments, allow } = match;
        const target = { segments, query };
        const { kind, serve } = value;
        return kind === "unary"
          ? { kind, allow, serve: (exchange, values) => serve(exchange, values, target) }
          : { kind, allow, serve: (request) => serve(request, target) };
      }
      case "method_not_allowed":
        return { ...match, isRpc: false };
      case "not_found":
        return notFound;
    }
  }

  return (method, target) => {
    const rpc = rpcRoutes.get(target.path);
    if (rpc === undefined) return findRest(method, target);
    if (rpc.allow.includes(method)) return rpc;
    return { kind: "method_not_allowed", isRpc: true, allow: rpc.allow };
  };
}

function rpcRoute(endpoint: Endpoint): Extract<Route, { kind: "unary" | "stream" }> {
  const { spec, rpc } = endpoint;
  const allow: readonly string[] = rpc.allowedMethods;
  if (spec.kind !== "unary") return { kind: "stream", allow, serve: rpc };
  const codecs = createCodecs(endpoint);
  return { kind: "unary", allow, serve: createRpcHandler({ ...endpoint, spec, codecs }) };
}
