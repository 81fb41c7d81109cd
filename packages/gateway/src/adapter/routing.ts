import type { DescMethod } from "@bufbuild/protobuf";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { RequestTarget } from "../http/target.ts";
import { createCodecs } from "../rpc/codec.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { createRpcHandler } from "../rpc/rpc.ts";
import type { UnaryHandler } from "../rpc/unary.ts";
import type { RenderError } from "../rest/error.ts";
import { createRestRoutes } from "../rest/handler.ts";
import type { RestSettings } from "../rest/options.ts";

/** What serves a request. */
export type Route = RouteKind & {
  /** The method that is called; undefined if none is. */
  readonly method: DescMethod | undefined;
  /** Its path below the prefix, with variables in braces; undefined if none was found. */
  readonly pathTemplate: string | undefined;
  /** Whether the path is that of a method, and not one of REST. */
  readonly isRpc: boolean;
  /** The methods of HTTP that the path has. */
  readonly allow: readonly string[];
  /** That of the service whose path it is; undefined for one of RPC, and where nothing is served. */
  readonly renderError?: RenderError;
};

type RouteKind =
  /** A unary call: takes the short way. */
  | { readonly kind: "unary"; readonly serve: UnaryHandler }
  /** Any other call. */
  | { readonly kind: "stream"; readonly serve: StreamHandler }
  | { readonly kind: "method_not_allowed" }
  | { readonly kind: "not_found" };

export type StreamHandler = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

/** Finds what serves a method and target. */
export type FindRoute = (method: string, target: RequestTarget) => Route;

const notFound: Route = {
  kind: "not_found",
  method: undefined,
  pathTemplate: undefined,
  isRpc: false,
  allow: [],
};

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
        const { kind, serve, method: called, pathTemplate, renderError } = value;
        const found = { method: called, pathTemplate, isRpc: false, allow, renderError };
        return kind === "unary"
          ? { kind, ...found, serve: (exchange, values) => serve(exchange, values, target) }
          : { kind, ...found, serve: (request) => serve(request, target) };
      }
      case "method_not_allowed": {
        const { kind, allow, value } = match;
        const { renderError } = value;
        return {
          kind,
          method: undefined,
          pathTemplate: undefined,
          isRpc: false,
          allow,
          renderError,
        };
      }
      case "not_found":
        return notFound;
    }
  }

  return (method, target) => {
    const rpc = rpcRoutes.get(target.path);
    if (rpc === undefined) return findRest(method, target);
    if (rpc.allow.includes(method)) return rpc;
    return { ...rpc, kind: "method_not_allowed", method: undefined };
  };
}

function rpcRoute(endpoint: Endpoint): Route {
  const { spec, rpc } = endpoint;
  const { requestPath: pathTemplate, allowedMethods: allow } = rpc;
  const found = { method: spec.method, pathTemplate, isRpc: true, allow };
  if (spec.kind !== "unary") return { kind: "stream", ...found, serve: rpc };
  const codecs = createCodecs(endpoint);
  return { kind: "unary", ...found, serve: createRpcHandler({ ...endpoint, spec, codecs }) };
}
