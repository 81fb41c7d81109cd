import { constants } from "node:http2";
import { Code } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  type ConnectNodeAdapterOptions,
  compressionBrotli,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { applyCors, type CorsOptions } from "./cors.ts";
import { clampDeadline } from "./deadline.ts";
import { collectEndpoints } from "./endpoint.ts";
import { compressionGzip } from "./gzip.ts";
import type { NodeHandler } from "./node-handler.ts";
import { hasUrl, parseRequestTarget, type RequestTarget } from "./request-target.ts";
import { RestFailure, renderStatus } from "./rest/error.ts";
import { createRestRoutes, type RestHandler } from "./rest/handler.ts";
import { type RestOptions, resolveRestOptions } from "./rest/options.ts";
import { errorResponse } from "./rest/response.ts";
import type { RouteMatch } from "./rest/route-table.ts";

/** The options of `connectNodeAdapter`, with the same meaning, and those of REST. */
export interface GatewayOptions extends ConnectNodeAdapterOptions {
  readonly rest?: RestOptions;
  /** Lets pages of other origins call, on every protocol. Default: none may. */
  readonly cors?: CorsOptions;
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
  const { fallback, cors, onError = logError, requestPathPrefix: prefix = "" } = options;
  const rpcByPath = new Map(endpoints.map(({ rpc }) => [prefix + rpc.requestPath, rpc]));
  const settings = resolveRestOptions(options.rest ?? {});
  const routes = createRestRoutes(endpoints, settings);

  function matchRest(method: string, path: string): RouteMatch<RestHandler> {
    if (!path.startsWith(prefix)) return { kind: "not_found" };
    return routes.match(method, path.slice(prefix.length));
  }

  async function serve(...[request, response]: Parameters<NodeHandler>): Promise<void> {
    if (!hasUrl(request)) {
      throw new RestFailure(
        400,
        Code.InvalidArgument,
        "Host must name one host, and the target be a path",
      );
    }
    clampDeadline(request.headers);
    const { method = "" } = request;
    const target = parseRequestTarget(request.url ?? "");
    const rpc = rpcByPath.get(target.path);
    const route = matchRest(method, target.path);
    if (cors !== undefined) {
      const allow = rpc?.allowedMethods ?? (route.kind === "not_found" ? [] : route.allow);
      if (applyCors(cors, [request, response], allow)) return;
    }
    if (rpc !== undefined && !rpc.allowedMethods.includes(method)) {
      response.setHeader("allow", rpc.allowedMethods.join(", ")); // RFC 9110 section 15.5.6
    }
    if (rpc === undefined && route.kind === "not_found" && fallback !== undefined) {
      fallback(request, response);
      return;
    }
    const handler = rpc ?? restHandler(route, target);
    const contextValues = options.contextValues?.(request);
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues);
    await send(await handler(universal), [request, response]);
  }

  async function fail(error: unknown, ...exchange: Parameters<NodeHandler>): Promise<void> {
    const [, response] = exchange;
    if (isClientGone(response)) return;
    if (!(error instanceof RestFailure)) onError(error);
    if (response.headersSent) breakOff(response);
    else await send(responseFor(error), exchange);
  }

  function responseFor(error: unknown): UniversalServerResponse {
    try {
      return errorResponse(error, settings);
    } catch (broken) {
      onError(broken);
      return errorResponse(broken, { renderError: renderStatus });
    }
  }

  return (request, response) => {
    serve(request, response)
      .catch((error: unknown) => fail(error, request, response))
      .catch((error: unknown) => {
        if (!isClientGone(response)) onError(error);
        breakOff(response);
      });
  };
}

type UniversalHandler = (request: UniversalServerRequest) => Promise<UniversalServerResponse>;

/** @throws {RestFailure} where there is none. */
function restHandler(route: RouteMatch<RestHandler>, { query }: RequestTarget): UniversalHandler {
  switch (route.kind) {
    case "found": {
      const { value: serve, segments } = route;
      return (request) => serve(request, { segments, query });
    }
    case "method_not_allowed": {
      const allow = route.allow.join(", ");
      throw new RestFailure(405, Code.Unimplemented, `the method must be ${allow}`, { allow });
    }
    case "not_found":
      throw new RestFailure(404, Code.NotFound, "nothing is served at this path");
  }
}

/** Writes a response; to HEAD its head alone, and the call behind the rest is ended. */
async function send(
  answer: UniversalServerResponse,
  [request, response]: Parameters<NodeHandler>,
): Promise<void> {
  const vary = response.getHeader("vary"); // of CORS; what is written now would replace it
  if (vary !== undefined && answer.header?.has("vary")) answer.header.append("vary", `${vary}`);
  if (request.method !== "HEAD") return await universalResponseToNodeResponse(answer, response);
  const { body, ...head } = answer;
  const iterator = body?.[Symbol.asyncIterator]();
  await iterator?.next();
  await iterator?.return?.();
  await universalResponseToNodeResponse(head, response);
}

function isClientGone(response: Parameters<NodeHandler>[1]): boolean {
  // Over HTTP/1.1 a write that is cut off may be told before the response hears of it.
  if ("stream" in response) return response.stream.destroyed;
  return response.destroyed || response.req.socket.destroyed;
}

/** Ends a response that cannot go on, so that nobody takes what there is for the whole. */
function breakOff(response: Parameters<NodeHandler>[1]): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: what connectNodeAdapter does
  console.error(error);
}
