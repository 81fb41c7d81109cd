/** Any Connect service by every protocol: an exchange of whatever runtime becomes one call. */
import {
  Code,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createContextValues,
} from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import type { BodyBudget } from "../http/body-budget.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import { parseRequestTarget } from "../http/target.ts";
import { RestFailure, renderStatus } from "../rest/error.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { errorResponse } from "../rest/response/response.ts";
import { clampDeadline } from "../rpc/deadline.ts";
import { collectEndpoints, type MessageLimits, type StreamLimits } from "../rpc/endpoint.ts";
import { logError } from "../rpc/errors.ts";
import { trailersOnly } from "../rpc/grpc.ts";
import { type CorsOptions, createCors, isPreflight } from "./cors.ts";
import { type CallObservation, type CallObserver, protocolOf } from "./observer.ts";
import { peerAddressKey } from "./peer-address.ts";
import { createRoutes, type Route } from "./routes.ts";

/** The options of a Connect router, with the same meaning, and those of REST. */
export interface CommonOptions extends ConnectRouterOptions, MessageLimits, StreamLimits {
  /** Registers the services. */
  readonly routes: (router: ConnectRouter) => void;
  /** A prefix of all paths, as in connect-es: `/api`. Default: none. */
  readonly requestPathPrefix?: string;
  readonly rest?: RestOptions;
  /**
   * Adds up the bytes of all bodies under way, and bounds them. Share one among gateways of a
   * process. Default: one of its own, with 64 MiB.
   */
  readonly bodyBudget?: BodyBudget;
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

/** What a runtime brings. */
export interface Runtime {
  /** The compressions of RPC, if `acceptCompression` names none. */
  readonly compressions: readonly Compression[];
  /** The content codings for answers of REST, in order of preference. */
  readonly codings: readonly AnswerCoding[];
}

/** One request with what serves it. */
export interface Found {
  readonly exchange: Exchange;
  readonly route: Route;
}

export interface Gateway {
  readonly find: (method: string, target: string) => Route;
  /**
   * Serves a request. Resolves when the answer was handed over.
   *
   * @param repeated A header that was sent twice and must not be.
   * @param values Makes what the call begins with.
   */
  readonly serve: (
    found: Found,
    repeated: string | undefined,
    values: () => ContextValues | undefined,
  ) => Promise<void>;
}

/** @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`. */
export function createGateway(options: CommonOptions, { compressions, codings }: Runtime): Gateway {
  const { observer, onError = logError, requestPathPrefix = "", exposePeerAddress } = options;
  const acceptCompression = options.acceptCompression ?? [...compressions];
  const endpoints = collectEndpoints({ ...options, acceptCompression, onError }, options.routes);
  const applyCors = options.cors && createCors(options.cors);
  const settings = resolveRestOptions(options.rest ?? {});
  const findRoute = createRoutes({ endpoints, prefix: requestPathPrefix, settings, codings });

  function begin({ exchange, route }: Found): CallObservation | undefined {
    const { method: requestMethod, target, headers } = exchange;
    const { method, pathTemplate: path } = route;
    const pathTemplate = path && requestPathPrefix + path;
    const protocol = protocolOf(headers, route.isRpc);
    const peerAddress = () => exchange.peerAddress;
    const request = { method, pathTemplate, protocol, requestMethod, target, headers, peerAddress };
    const observation = observer?.begin(request);
    if (observation?.responseHeader !== undefined) exchange.addHeader(observation.responseHeader);
    return observation;
  }

  function run(
    { exchange, route }: Found,
    repeated: string | undefined,
    makeValues: () => ContextValues | undefined,
    observation: CallObservation | undefined,
  ): Promise<void> | undefined {
    if (exchange.origin === "") throw noUrl();
    if (repeated !== undefined) throw sentTwice(repeated);
    clampDeadline(exchange.headers);
    applyCors?.(exchange, route.allow);
    if (route.kind === "not_found") exchange.respond(notFound(exchange, route));
    else if (route.kind === "method_not_allowed") exchange.respond(methodNotAllowed(route));
    if (route.kind !== "call") return undefined;
    let values = makeValues();
    if (exposePeerAddress === true) {
      values = (values ?? createContextValues()).set(peerAddressKey, exchange.peerAddress);
    }
    if (observation?.calling !== undefined) {
      values ??= createContextValues();
      guarded(observation.calling.bind(observation), values);
    }
    return route.serve(exchange, values);
  }

  async function serve(
    found: Found,
    repeated: string | undefined,
    makeValues: () => ContextValues | undefined,
  ): Promise<void> {
    const { exchange, route } = found;
    if (applyCors !== undefined && isPreflight(exchange)) {
      applyCors(exchange, route.allow);
      return;
    }
    const observation = observer && guarded(begin, found);
    try {
      await run(found, repeated, makeValues, observation);
    } catch (error) {
      fail(error, found);
    }
    if (exchange.omitted !== undefined) {
      onError(new Error(`an answer was too long for HTTP/2: left out ${exchange.omitted}`));
    }
    if (observation === undefined) return;
    const { code, status } = exchange;
    guarded(observation.end.bind(observation), { code, status });
  }

  /** What an observer throws does nothing to the request. */
  function guarded<A, R>(tell: (about: A) => R, about: A): R | undefined {
    try {
      return tell(about);
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  function fail(error: unknown, { exchange, route }: Found): void {
    if (exchange.isClosed) return;
    if (!(error instanceof RestFailure)) onError(error);
    try {
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(responseFor(error, route.renderError));
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

  return { find: (method, target) => findRoute(method, parseRequestTarget(target)), serve };
}

function noUrl(): RestFailure {
  const message = "Host must name one host, and the target be a path";
  return new RestFailure(400, Code.InvalidArgument, message);
}

function sentTwice(field: string): RestFailure {
  return new RestFailure(400, Code.InvalidArgument, `the header ${field} must be sent once`);
}

const nothingServed = "nothing is served at this path";

/** @throws {RestFailure} for REST, whose answers all have a body. */
function notFound({ headers }: Exchange, { isRpc }: Route): Response {
  const noBody = { body: "", code: Code.Unimplemented };
  switch (protocolOf(headers, isRpc)) {
    case "rest":
      throw new RestFailure(404, Code.NotFound, nothingServed);
    case "connect":
      return { status: 404, header: { "content-length": 0 }, ...noBody };
    default:
      return trailersOnly({ headers }, Code.Unimplemented, nothingServed);
  }
}

/** @throws {RestFailure} for REST, whose answers all have a body. */
function methodNotAllowed({ isRpc, allow }: Route): Response {
  const header = {
    allow: allow.join(", "), // RFC 9110 section 15.5.6
    ...(allow.includes("QUERY") && { "accept-query": "application/json" }), // RFC 10008 section 3
  };
  if (!isRpc) {
    throw new RestFailure(405, Code.Unimplemented, `the method must be ${header.allow}`, header);
  }
  const empty = { ...header, "content-length": 0 };
  return { status: 405, header: empty, body: "", code: Code.Unimplemented };
}
