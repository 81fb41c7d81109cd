import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import { type ConnectNodeAdapterOptions, compressionBrotli } from "@connectrpc/connect-node";
import { clampDeadline } from "../rpc/deadline.ts";
import type { StreamOutcome } from "../rpc/stream-outcome.ts";
import { logError } from "../rpc/unexpected.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import type { NodeHandler } from "../http/node-handler.ts";
import { findRepeatedField } from "../http/repeated-field.ts";
import { RequestExchange } from "../http/request-exchange.ts";
import { originOf, parseOrigin, parseRequestTarget } from "../http/target.ts";
import { StreamExchange } from "../http/stream-exchange.ts";
import { collectEndpoints, type MessageLimits } from "../rpc/endpoint.ts";
import { compressionGzip } from "../rpc/gzip.ts";
import { RestFailure, renderStatus } from "../rest/error.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import { errorResponse } from "../rest/response/response.ts";
import { type CorsOptions, createCors, isPreflightRequest } from "./cors.ts";
import { GuardedObserver } from "./guarded-observer.ts";
import { endWithClient } from "./half-close.ts";
import { methodNotAllowed, notFound, noUrl, sentTwice } from "./not-served.ts";
import type { CallObservation, CallObserver } from "./observer.ts";
import { peerAddressKey } from "./peer-address.ts";
import { createRoutes, type Route } from "./routing.ts";
import { serveStreamCall } from "./stream-call.ts";

/** The options of `connectNodeAdapter`, with the same meaning, and those of REST. */
export interface GatewayOptions extends ConnectNodeAdapterOptions, MessageLimits {
  readonly rest?: RestOptions;
  /** Lets pages of other origins call, on every protocol. Default: none may. */
  readonly cors?: CorsOptions;
  /** Told of every request and of its end: for metrics, logs, traces. Default: nobody is. */
  readonly observer?: CallObserver;
  /** Leaves the address of each caller under `peerAddressKey`, for gate and interceptors. Default: no. */
  readonly exposePeerAddress?: boolean;
  /**
   * Told of what went wrong behind a response, once a call: of an error that is no ConnectError,
   * which leaves as "internal error", whoever threw it (the implementation, an interceptor, the
   * gate), on every protocol; and of an answer that could not be made or went to pieces. Not of
   * what is thrown when the call was given up already, by its client or its deadline. Default:
   * `console.error`.
   */
  readonly onError?: (error: unknown) => void;
}

/** A request listener, and more for those who can use it. */
export interface GatewayHandler extends NodeHandler {
  /**
   * For the event `stream` of a `node:http2` server: serves a unary call by the
   * core API, which costs about half as much as a request listener.
   *
   * @param rawHeaders As the event has them. Without them nobody sees that `Authorization` or
   * `Content-Type` was sent twice, which is refused with 400.
   * @returns false, with nothing done, for what only the request listener serves.
   */
  serveStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders?: readonly string[],
  ): boolean;
}

/**
 * Serves the methods of Connect services by gRPC, gRPC-Web, Connect, and by
 * REST as their `google.api.http` options say.
 *
 * @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`.
 */
export function gatewayNodeAdapter(options: GatewayOptions): GatewayHandler {
  const acceptCompression = options.acceptCompression ?? [compressionGzip, compressionBrotli];
  const {
    fallback,
    observer,
    onError = logError,
    requestPathPrefix = "",
    exposePeerAddress,
  } = options;
  const guarded = new GuardedObserver({ observer, requestPathPrefix, onError });
  const isObserved = observer !== undefined;
  const routerOptions = { ...options, acceptCompression, onError };
  const endpoints = collectEndpoints(routerOptions, options.routes, isObserved);
  const applyCors = options.cors && createCors(options.cors);
  const settings = resolveRestOptions(options.rest ?? {});
  const findRoute = createRoutes(endpoints, requestPathPrefix, settings);

  function serveRequest(...node: Parameters<NodeHandler>): void {
    const [request, response] = node;
    const exchange = new RequestExchange(node, originOf(request) ?? "");
    const route = findRoute(exchange.method, parseRequestTarget(exchange.target));
    const isOurs = route.kind !== "not_found" || fallback === undefined;
    const isCall = isOurs && !(applyCors !== undefined && isPreflightRequest(request));
    const observation = isCall ? guarded.begin(exchange, route) : undefined;
    if (observation !== undefined && route.kind === "stream") {
      const outcome = guarded.endWithExchange(observation, exchange, response);
      settle({ exchange, route }, () => serve(exchange, route, node, observation, outcome));
    } else {
      settle({ exchange, route, observation }, () => serve(exchange, route, node, observation));
    }
  }

  function serve(
    exchange: RequestExchange,
    route: Route,
    node: Parameters<NodeHandler>,
    observation: CallObservation | undefined,
    outcome?: StreamOutcome,
  ): Promise<void> | undefined {
    const [request, response] = node;
    if (exchange.origin === "") throw noUrl();
    const repeated = findRepeatedField(request.rawHeaders);
    if (repeated !== undefined) throw sentTwice(repeated);
    clampDeadline(request.headers);
    if (applyCors?.(node, route.allow)) return undefined;
    switch (route.kind) {
      case "unary": {
        const values = callValues(exchange, observation, options.contextValues?.(request));
        return route.serve(exchange, values);
      }
      case "stream": {
        if (route.method?.methodKind !== "client_streaming") endWithClient(node);
        const values = callValues(exchange, observation, options.contextValues?.(request));
        return serveStreamCall(route.serve, node, values, outcome);
      }
      case "method_not_allowed":
        exchange.respond(methodNotAllowed(route));
        return undefined;
      case "not_found":
        if (fallback !== undefined) fallback(request, response);
        else exchange.respond(notFound(request.headers, route));
        return undefined;
    }
  }

  function serveStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[] = [],
  ): boolean {
    const { ":method": method = "", ":path": path = "", expect } = headers;
    // These two are about requests of node:http.
    if (options.contextValues !== undefined) return false;
    if (applyCors !== undefined && mayConcernCors(method, headers)) return false;
    const route = findRoute(method, parseRequestTarget(path));
    if (route.kind !== "unary" || expect !== undefined) return false;
    if (findRepeatedField(rawHeaders) !== undefined) return false;
    const scheme = stream.session?.encrypted === true ? "https" : "http";
    const origin = parseOrigin(scheme, headers[":authority"] ?? headers.host, path);
    if (origin === undefined) return false;
    clampDeadline(headers);
    const exchange = new StreamExchange(stream, headers, origin);
    const observation = guarded.begin(exchange, route);
    settle({ exchange, route, observation }, () =>
      route.serve(exchange, callValues(exchange, observation)),
    );
    return true;
  }

  /** The values that a call begins with. */
  function callValues(
    exchange: Exchange,
    observation: CallObservation | undefined,
    own?: ContextValues,
  ): ContextValues | undefined {
    const values = exposePeerAddress
      ? (own ?? createContextValues()).set(peerAddressKey, exchange.peerAddress)
      : own;
    return guarded.calling(observation, values);
  }

  /** Serves, and answers what goes wrong; then the observation ends. */
  function settle(
    { exchange, route, observation }: Settling,
    run: () => Promise<void> | undefined,
  ): void {
    const end = observation && (() => guarded.end(observation, exchange));
    const failed = (error: unknown) => {
      fail(error, exchange, route);
      end?.();
    };
    try {
      const running = run();
      if (running === undefined) end?.();
      else void running.then(end, failed);
    } catch (error) {
      failed(error);
    }
  }

  function fail(error: unknown, exchange: Exchange, { renderError }: Route): void {
    if (exchange.isClosed) return;
    if (!(error instanceof RestFailure)) onError(error);
    try {
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(responseFor(error, renderError));
    } catch (broken) {
      onError(broken);
      exchange.breakOff();
    }
  }

  function responseFor(error: unknown, renderError = settings.renderError): Response {
    try {
      return errorResponse(error, { renderError });
    } catch (broken) {
      onError(broken);
      return errorResponse(broken, { renderError: renderStatus });
    }
  }

  return Object.assign(serveRequest, { serveStream });
}

/** A request that is being served; its observation, if it ends with the answer. */
interface Settling {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly observation?: CallObservation | undefined;
}

/** Who is no browser names no origin; and no cache keeps what answers a POST, so that needs no Vary. */
function mayConcernCors(method: string, { origin }: IncomingHttpHeaders): boolean {
  return origin !== undefined || method !== "POST";
}
