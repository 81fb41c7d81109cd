import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { type Exchange, headerOf } from "../http/exchange.ts";
import type { RequestTarget } from "../http/target.ts";
import type { RenderError } from "../rest/error.ts";
import { createRestRoutes } from "../rest/handler.ts";
import type { RestSettings } from "../rest/options.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { createConnectUnary } from "../rpc/connect.ts";
import { createConnectStreams } from "../rpc/connect-stream.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { createGrpc, createGrpcWeb } from "../rpc/grpc.ts";
import { emptyResponse, type ServeRpc, unsupportedMediaType } from "../rpc/protocol.ts";
import type { ProtocolName } from "./observer.ts";

/** What serves a request, or why nothing does. */
export interface Route {
  readonly kind: "call" | "method_not_allowed" | "not_found";
  readonly method: DescMethod | undefined;
  /** The path after the prefix, with variables in braces; undefined if none was found. */
  readonly pathTemplate: string | undefined;
  /** Whether the path is that of an RPC method, not one of REST. */
  readonly isRpc: boolean;
  readonly allow: readonly string[];
  /** That of the service; undefined for RPC, and if nothing is served. */
  readonly renderError?: RenderError;
  /** The protocol, if neither path nor media type tell. */
  readonly protocol?: ProtocolName;
  /** The method that a request calls, for a path of several. Known at the latest when it ends. */
  readonly methodOf?: (exchange: Exchange) => DescMethod | undefined;
  readonly serve: (
    exchange: Exchange,
    values: ContextValues | undefined,
  ) => Promise<void> | undefined;
}

type FindRoute = (method: string, target: RequestTarget) => Route;

const notFound: Route = {
  kind: "not_found",
  method: undefined,
  pathTemplate: undefined,
  isRpc: false,
  allow: [],
  serve: () => undefined,
};

export interface OwnRoute extends Omit<Route, "kind" | "method" | "isRpc" | "renderError"> {
  readonly path: string;
}

/** Adds an optional protocol. Its code is loaded only if it is used. */
export type AddRoutes = (options: RoutesOptions) => readonly OwnRoute[];

interface RoutesOptions {
  readonly endpoints: readonly Endpoint[];
  readonly prefix: string;
  readonly settings: RestSettings;
  readonly codings: readonly AnswerCoding[];
  /** The origins whose pages may call; `*` for any. */
  readonly origins: readonly string[];
}

/**
 * The routes of all protocols. An RPC path takes precedence over a REST path.
 *
 * @throws {RuleError} for an option of `google.api.http` that cannot be served.
 */
export function createRoutes(options: RoutesOptions, addRoutes?: AddRoutes): FindRoute {
  const { endpoints, prefix, settings, codings } = options;
  const rpcRoutes = new Map<string, Route>(
    endpoints.map((endpoint) => [prefix + endpoint.rpc.requestPath, rpcRoute(endpoint)]),
  );
  for (const { path, ...route } of addRoutes?.(options) ?? []) {
    rpcRoutes.set(path, { ...route, kind: "call", method: undefined, isRpc: false });
  }
  const restRoutes = createRestRoutes(endpoints, settings, codings);

  function findRest(method: string, { path, query }: RequestTarget): Route {
    if (!path.startsWith(prefix)) return notFound;
    const match = restRoutes.match(method, path.slice(prefix.length));
    if (match.kind === "not_found") return notFound;
    const { allow } = match;
    const { serve, renderError, method: called, pathTemplate } = match.value;
    if (match.kind === "method_not_allowed") {
      return { ...notFound, kind: "method_not_allowed", allow, renderError };
    }
    const target = { segments: match.segments, query };
    return {
      kind: "call",
      method: called,
      pathTemplate,
      isRpc: false,
      allow,
      renderError,
      serve: (exchange, values) => serve(exchange, values, target),
    };
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
  const serve = createRpcHandler(endpoint);
  return { kind: "call", method: spec.method, pathTemplate, isRpc: true, allow, serve };
}

/**
 * Serves a method with the protocol of the request's media type. The caller has already checked
 * that the method supports the HTTP method.
 */
export function createRpcHandler(endpoint: Endpoint): ServeRpc {
  const { kind } = endpoint.spec;
  const createConnect = kind === "unary" ? createConnectUnary : createConnectStreams;
  const all = [createGrpc(endpoint), createGrpcWeb(endpoint), createConnect(endpoint)];
  const protocols = all.filter(({ name }) => endpoint.rpc.protocolNames.includes(name));

  function find(contentType: string, method: string): ServeRpc | undefined {
    for (const protocol of protocols) {
      if (!protocol.methods.includes(method)) continue;
      const handler = protocol.handlerFor(contentType, method);
      if (handler !== undefined) return handler;
    }
    return undefined;
  }

  return (exchange, contextValues) => {
    if (kind === "bidi_streaming" && !exchange.isDuplex) {
      // Clients that expect full duplex may hang on HTTP/1.1. Closing the connection ends that.
      const error = new ConnectError("a bidirectional stream needs HTTP/2", Code.Unimplemented);
      exchange.respond(emptyResponse(505, error, { connection: "close" }));
      return undefined;
    }
    const handler = find(headerOf(exchange, "content-type") ?? "", exchange.method);
    if (handler !== undefined) return handler(exchange, contextValues);
    exchange.respond(unsupportedMediaType());
    return undefined;
  };
}
