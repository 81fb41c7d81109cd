import { mediaTypeOf } from "../http/headers.ts";
import { createRest } from "../rest/handler.ts";
import type { RestSettings } from "../rest/options.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import type { ProtocolName } from "../rpc/call.ts";
import { connectGetRoutes, connectRoutes } from "../rpc/connect.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import {
  type Face,
  methodNotAllowed,
  needsDuplex,
  type Route,
  RpcRoute,
  unsupportedMediaType,
} from "../rpc/face.ts";
import { grpcRoutes, grpcWebRoutes } from "../rpc/grpc.ts";

interface FaceOptions {
  readonly endpoints: readonly Endpoint[];
  /** Of all paths. */
  readonly prefix: string;
  readonly settings: RestSettings;
  readonly codings: readonly AnswerCoding[];
  /** The origins whose pages may call; `*` for any. */
  readonly origins: readonly string[];
}

/** Creates a face. The code of an optional one is loaded only if it is used. */
export type CreateFace = (options: FaceOptions) => Face;

const faces: readonly CreateFace[] = [
  rpcFace("grpc", { POST: grpcRoutes }),
  rpcFace("grpc-web", { POST: grpcWebRoutes }),
  rpcFace("connect", { POST: connectRoutes, GET: connectGetRoutes }),
  ({ endpoints, prefix, settings, codings }) => createRest(endpoints, prefix, settings, codings),
];

type RoutesOf = (endpoint: Endpoint) => Iterable<readonly [mediaType: string, Route]>;

function rpcFace(name: ProtocolName, byMethod: Readonly<Record<string, RoutesOf>>): CreateFace {
  return ({ endpoints, prefix }) => {
    const served = endpoints.filter(({ rpc }) => rpc.protocolNames.includes(name));
    const entries = served.flatMap((endpoint) => {
      const path = prefix + endpoint.rpc.requestPath;
      return Object.entries(byMethod).flatMap(([method, routesOf]) =>
        [...routesOf(endpoint)].map(([mediaType, route]) => ({ path, method, mediaType, route })),
      );
    });
    return { entries };
  };
}

/** An exact path takes precedence over a REST path. @throws {RuleError} for a rule that cannot be served. */
export function createRoutes(options: FaceOptions, mcp: CreateFace | undefined, notFound: Route) {
  const { prefix } = options;
  const all = [mcp, ...faces].flatMap((create) => create?.(options) ?? []);
  const matching = all.flatMap((face) => (face.match === undefined ? [] : [face.match]));
  const sites = new Map<string, ReturnType<typeof createSite>>();
  for (const { path, method, mediaType, route } of all.flatMap(({ entries }) => [...entries])) {
    const site = sites.get(path) ?? createSite(route);
    sites.set(path, site);
    const types = site.methods.get(method) ?? new Map<string, Route>();
    site.methods.set(method, types.set(mediaType, route));
  }

  return (method: string, path: string, contentType = ""): Route => {
    const site = sites.get(path);
    if (site === undefined) {
      for (const match of path.startsWith(prefix) ? matching : []) {
        const route = match(method, path.slice(prefix.length));
        if (route !== undefined) return route;
      }
      return notFound;
    }
    const types = site.methods.get(method);
    if (types === undefined) return site.notAllowed;
    const route = types.get(contentType) ?? types.get("*") ?? types.get(mediaTypeOf(contentType));
    return route ?? site.unsupported;
  };
}

/** What is served at one exact path. */
function createSite(route: Route) {
  const { method, pathTemplate } = route;
  return {
    /** By HTTP method and media type. */
    methods: new Map<string, Map<string, Route>>(),
    notAllowed: methodNotAllowed(route),
    unsupported: {
      ...{ protocol: undefined, method, pathTemplate },
      allow: (path) => route.allow(path),
      open({ isDuplex }) {
        const isRefused = route instanceof RpcRoute && route.isBidi && !isDuplex;
        return isRefused ? needsDuplex() : unsupportedMediaType();
      },
    } satisfies Route,
  };
}
