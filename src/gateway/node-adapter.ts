import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Code, type ContextValues, createContextValues } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  type ConnectNodeAdapterOptions,
  compressionBrotli,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { type CorsOptions, createCors, isPreflightRequest } from "./cors.ts";
import { clampDeadline } from "./deadline.ts";
import { collectEndpoints } from "./endpoint.ts";
import type { Exchange, Response } from "./exchange.ts";
import { compressionGzip } from "./gzip.ts";
import type { NodeHandler } from "./node-handler.ts";
import { type CallObservation, type CallObserver, protocolOf } from "./observer.ts";
import { withPeerAddress } from "./peer-address.ts";
import { RequestExchange } from "./request-exchange.ts";
import { originOf, parseOrigin, parseRequestTarget } from "./request-target.ts";
import { RestFailure, renderStatus } from "./rest/error.ts";
import { type RestOptions, resolveRestOptions } from "./rest/options.ts";
import { errorResponse } from "./rest/response.ts";
import { createRoutes, type Route } from "./routing.ts";
import { StreamExchange } from "./stream-exchange.ts";
import { StreamOutcome, streamOutcomeKey } from "./stream-outcome.ts";

/** The options of `connectNodeAdapter`, with the same meaning, and those of REST. */
export interface GatewayOptions extends ConnectNodeAdapterOptions {
  readonly rest?: RestOptions;
  /** Lets pages of other origins call, on every protocol. Default: none may. */
  readonly cors?: CorsOptions;
  /** Told of every request and of its end: for metrics, logs, traces. Default: nobody is. */
  readonly observer?: CallObserver;
  /** Leaves the address of each caller under `peerAddressKey`, for gate and interceptors. Default: no. */
  readonly exposePeerAddress?: boolean;
  /** Told of what went wrong behind a response. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/** A request listener, and more for those who can use it. */
export interface GatewayHandler extends NodeHandler {
  /**
   * For the event `stream` of a `node:http2` server: serves a unary call by the
   * core API, which costs about half as much as a request listener.
   *
   * @returns false, with nothing done, for what only the request listener serves.
   */
  serveStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Serves the methods of Connect services by gRPC, gRPC-Web, Connect, and by
 * REST as their `google.api.http` options say.
 *
 * @throws {RuleError} for an option that cannot be served.
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
  const isObserved = observer !== undefined;
  const endpoints = collectEndpoints({ ...options, acceptCompression }, options.routes, isObserved);
  const applyCors = options.cors && createCors(options.cors);
  const settings = resolveRestOptions(options.rest ?? {});
  const findRoute = createRoutes(endpoints, requestPathPrefix, settings);

  function serveRequest(...node: Parameters<NodeHandler>): void {
    const [request] = node;
    const exchange = new RequestExchange(node, originOf(request) ?? "");
    const route = findRoute(exchange.method, parseRequestTarget(exchange.target));
    const isOurs = route.kind !== "not_found" || fallback === undefined;
    const isCall = isOurs && !(applyCors !== undefined && isPreflightRequest(request));
    const observation = isCall ? beginObservation(exchange, route) : undefined;
    if (observation !== undefined && route.kind === "stream") {
      const outcome = observeStream(exchange, observation, node);
      settle(exchange, undefined, () => serve(exchange, route, node, observation, outcome));
    } else {
      settle(exchange, observation, () => serve(exchange, route, node, observation));
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
    clampDeadline(request.headers);
    if (applyCors?.(node, route.allow)) return undefined;
    switch (route.kind) {
      case "unary":
        return route.serve(exchange, callValues(request, observation));
      case "stream": {
        const universal = universalRequest(node, callValues(request, observation), outcome);
        return route.serve(universal).then((answer) => send(answer, node));
      }
      case "method_not_allowed":
        exchange.respond(methodNotAllowed(route));
        return undefined;
      case "not_found":
        if (fallback !== undefined) fallback(request, response);
        // Clients of RPC read the status alone; our errors have no meaning for them.
        else if (protocolOf(request.headers, route.isRpc) !== "rest") exchange.respond(noMethod);
        else throw new RestFailure(404, Code.NotFound, "nothing is served at this path");
        return undefined;
    }
  }

  function universalRequest(
    [request, response]: Parameters<NodeHandler>,
    values: ContextValues | undefined,
    outcome: StreamOutcome | undefined,
  ) {
    if (outcome === undefined) {
      return universalRequestFromNodeRequest(request, response, undefined, values);
    }
    const observed = (values ?? createContextValues()).set(streamOutcomeKey, outcome);
    const universal = universalRequestFromNodeRequest(request, response, undefined, observed);
    outcome.expect(universal.signal);
    return universal;
  }

  function serveStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const { ":method": method = "", ":path": path = "", expect } = headers;
    // These two are about requests of node:http.
    if (options.contextValues !== undefined) return false;
    if (applyCors !== undefined && mayConcernCors(method, headers)) return false;
    const route = findRoute(method, parseRequestTarget(path));
    if (route.kind !== "unary" || expect !== undefined) return false;
    const scheme = stream.session?.encrypted === true ? "https" : "http";
    const origin = parseOrigin(scheme, headers[":authority"] ?? headers.host, path);
    if (origin === undefined) return false;
    clampDeadline(headers);
    const exchange = new StreamExchange(stream, headers, origin);
    const values = exposePeerAddress ? withPeerAddress(stream.session?.socket) : undefined;
    const observation = beginObservation(exchange, route);
    settle(exchange, observation, () => route.serve(exchange, tellValues(values, observation)));
    return true;
  }

  function beginObservation(exchange: Exchange, route: Route): CallObservation | undefined {
    if (observer === undefined) return undefined;
    const { method: requestMethod, target, headers } = exchange;
    const protocol = protocolOf(headers, route.isRpc);
    const peerAddress = () => exchange.peerAddress;
    const { method } = route;
    try {
      const head = { method, protocol, requestMethod, target, headers, peerAddress };
      const observation = observer.begin(head);
      const added = observation?.responseHeader;
      if (added !== undefined) exchange.addHeader(added);
      return observation;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  /** The values that a call begins with, which the observer hears of. */
  function callValues(
    request: Parameters<NodeHandler>[0],
    observation: CallObservation | undefined,
  ): ContextValues | undefined {
    const own = options.contextValues?.(request);
    return tellValues(exposePeerAddress ? withPeerAddress(request.socket, own) : own, observation);
  }

  function tellValues(
    given: ContextValues | undefined,
    observation: CallObservation | undefined,
  ): ContextValues | undefined {
    if (observation?.calling === undefined) return given;
    const values = given ?? createContextValues();
    try {
      observation.calling(values);
    } catch (error) {
      onError(error);
    }
    return values;
  }

  function endObservation(observation: CallObservation | undefined, code: Code | undefined): void {
    try {
      observation?.end({ code });
    } catch (error) {
      onError(error);
    }
  }

  /** The observation of a stream ends with the exchange: its handler does not tell. */
  function observeStream(
    exchange: RequestExchange,
    observation: CallObservation,
    [, response]: Parameters<NodeHandler>,
  ): StreamOutcome {
    const outcome = new StreamOutcome();
    exchange.onceClosed(() => {
      const status = response.headersSent ? response.statusCode : undefined;
      const end = { code: exchange.code, status, isWhole: response.writableEnded };
      endObservation(observation, outcome.code(end));
    });
    return outcome;
  }

  /** Serves, and answers what goes wrong; then the observation ends. */
  function settle(
    exchange: Exchange,
    observation: CallObservation | undefined,
    run: () => Promise<void> | undefined,
  ): void {
    const end = observation && (() => endObservation(observation, exchange.code));
    const failed = (error: unknown) => {
      fail(error, exchange);
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

  function fail(error: unknown, exchange: Exchange): void {
    if (exchange.isClosed) return;
    if (!(error instanceof RestFailure)) onError(error);
    try {
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(responseFor(error));
    } catch (broken) {
      onError(broken);
      exchange.breakOff();
    }
  }

  function responseFor(error: unknown): Response {
    try {
      return errorResponse(error, settings);
    } catch (broken) {
      onError(broken);
      return errorResponse(broken, { renderError: renderStatus });
    }
  }

  return Object.assign(serveRequest, { serveStream });
}

/** Who is no browser names no origin; and no cache keeps what answers a POST, so that needs no Vary. */
function mayConcernCors(method: string, { origin }: IncomingHttpHeaders): boolean {
  return origin !== undefined || method !== "POST";
}

function noUrl(): RestFailure {
  const message = "Host must name one host, and the target be a path";
  return new RestFailure(400, Code.InvalidArgument, message);
}

const noContent = { header: { "content-length": 0 }, body: "", code: Code.Unimplemented };

const noMethod: Response = { status: 404, ...noContent };

/** @throws {RestFailure} for REST, whose answers all have a body. */
function methodNotAllowed({ isRpc, allow }: Route): Response {
  const header = { allow: allow.join(", ") }; // RFC 9110 section 15.5.6
  if (isRpc) return { status: 405, ...noContent, header: { ...header, ...noContent.header } };
  throw new RestFailure(405, Code.Unimplemented, `the method must be ${header.allow}`, header);
}

/** Writes the response of a stream; to HEAD its head alone, and the call behind the rest is ended. */
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

function logError(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: what connectNodeAdapter does
  console.error(error);
}
