import { Code, ConnectError } from "@connectrpc/connect";
import {
  type ConnectNodeAdapterOptions,
  compressionBrotli,
  compressionGzip,
  type connectNodeAdapter,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { clampDeadline } from "./deadline.ts";
import { collectEndpoints } from "./endpoint.ts";
import { hasUrl, parseRequestTarget } from "./request-target.ts";
import { RestFailure, renderStatus } from "./rest/error.ts";
import {
  createRestRoutes,
  errorResponse,
  type RestHandler,
  type RestOptions,
} from "./rest/handler.ts";
import type { RouteMatch } from "./rest/route-table.ts";

/** A request listener for `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = ReturnType<typeof connectNodeAdapter>;

/** The options of `connectNodeAdapter`, with the same meaning, and those of REST. */
export interface GatewayOptions extends ConnectNodeAdapterOptions {
  readonly rest?: RestOptions;
  /** Told of what went wrong behind a response. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Serves the methods of Connect services by gRPC, gRPC-Web, Connect, and by
 * REST as their `google.api.http` options say.
 *
 * @throws {RuleError} for an option that cannot be served.
 */
export function gatewayNodeAdapter(options: GatewayOptions): NodeHandler {
  const acceptCompression = options.acceptCompression ?? [compressionGzip, compressionBrotli];
  const endpoints = collectEndpoints({ ...options, acceptCompression }, options.routes);
  const prefix = options.requestPathPrefix ?? "";
  const rpcByPath = new Map(endpoints.map(({ rpc }) => [prefix + rpc.requestPath, rpc]));
  const { fallback, rest = {}, onError = logError } = options;
  const routes = createRestRoutes(endpoints, prefix, rest);
  const render = rest.renderError ?? renderStatus;

  async function serve(...[request, response]: Parameters<NodeHandler>): Promise<void> {
    if (!hasUrl(request)) {
      throw new RestFailure(
        400,
        Code.InvalidArgument,
        "Host must name one host, and the target be a path",
      );
    }
    clampDeadline(request.headers);
    const { path, query } = parseRequestTarget(request.url ?? "");
    const rpc = rpcByPath.get(path);
    const route = routes.match(request.method ?? "", path);
    if (rpc === undefined && route.kind === "not_found" && fallback !== undefined) {
      fallback(request, response);
      return;
    }
    const handler = rpc ?? restHandler(route);
    const contextValues = options.contextValues?.(request);
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues);
    await universalResponseToNodeResponse(await handler(universal, query), response);
  }

  return (request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (!(error instanceof RestFailure) && !isClientGone(error)) onError(error);
      if (response.headersSent) response.destroy();
      else universalResponseToNodeResponse(errorResponse(error, render), response).catch(onError);
    });
  };
}

function restHandler(route: RouteMatch<RestHandler>): RestHandler {
  switch (route.kind) {
    case "found":
      return route.value;
    case "method_not_allowed": {
      const allow = route.allow.join(", ");
      throw new RestFailure(405, Code.Unimplemented, `the method must be ${allow}`, { allow });
    }
    case "not_found":
      throw new RestFailure(404, Code.NotFound, "nothing is served at this path");
  }
}

function isClientGone(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.Aborted || code === Code.Canceled;
}

function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: what connectNodeAdapter does
  console.error(error);
}
