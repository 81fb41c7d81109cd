/** Any Connect service over every protocol: turns an exchange, of any runtime, into one call. */
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { plainAddress } from "../http/address-key.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import { parseRequestTarget } from "../http/target.ts";
import { type RenderError, RestFailure, renderStatus } from "../rest/error.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { errorResponse } from "../rest/response/response.ts";
import {
  collectEndpoints,
  type MessageLimits,
  type StreamLimits,
  type TypeListener,
} from "../rpc/endpoint.ts";
import { logError } from "../rpc/errors.ts";
import { trailersOnly } from "../rpc/grpc.ts";
import type { OptionKindsOf } from "../rpc/options.ts";
import { emptyResponse } from "../rpc/protocol.ts";
import { type CorsOptions, createCors, isPreflight } from "./cors.ts";
import { type CallObservation, type CallObserver, protocolOf } from "./observer.ts";
import { type AddRoutes, createRoutes, type Route } from "./routes.ts";

/** The address of the client, if `exposePeerAddress` is set. */
export const peerAddressKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  { description: "the address of the peer" },
);

/** The options of a Connect router, with the same meaning, and those of REST. */
export interface CommonOptions
  extends ConnectRouterOptions,
    MessageLimits,
    StreamLimits,
    TypeListener {
  /** Registers the services. */
  readonly routes: (router: ConnectRouter) => void;
  /** A prefix of all paths, as in connect-es: `/api`. Default: none. */
  readonly requestPathPrefix?: string;
  readonly rest?: RestOptions;
  /**
   * Adds up the bytes of all bodies in progress, and bounds them. Share one among the gateways of a
   * process. Default: one of its own, with 64 MiB.
   */
  readonly bodyBudget?: BodyBudget;
  /** Lets pages from other origins call, over every protocol. Default: none. */
  readonly cors?: CorsOptions;
  /** Offers methods to language models: `createMcp` of `connect-gateway/mcp`. Default: none. */
  readonly mcp?: AddRoutes;
  /** Observes every request and its end: for metrics, logs, traces. Default: none. */
  readonly observer?: CallObserver;
  /** Stores the address of each client under `peerAddressKey`, for gate and interceptors. Default: no. */
  readonly exposePeerAddress?: boolean;
  /**
   * Called once for a call that fails with anything but a ConnectError, thrown by the implementation,
   * an interceptor or the gate. Clients get "internal error". Also called for an answer that could
   * not be created or was cut. Not called for what is thrown after the client has left or the
   * deadline has passed. Default: `console.error`.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * The error for a path at which nothing is served: unavailable, for example, while the services
   * are not known yet. Default, also for undefined: 404, and UNIMPLEMENTED over gRPC.
   */
  readonly notFoundError?: () => ConnectError | undefined;
}

export const commonOptionKinds: OptionKindsOf<CommonOptions> = {
  routes: "function",
  requestPathPrefix: "string",
  rest: "object",
  cors: "object",
  mcp: "function",
  bodyBudget: "object",
  observer: "object",
  exposePeerAddress: "boolean",
  onError: "function",
  notFoundError: "function",
  onUnknownType: "function",
  readMaxValues: "number",
  streamIdleTimeoutMs: "number",
  // Those of connect-es:
  grpc: "boolean",
  grpcWeb: "boolean",
  connect: "boolean",
  acceptCompression: "list",
  compressMinBytes: "number",
  interceptors: "list",
  readMaxBytes: "number",
  writeMaxBytes: "number",
  jsonOptions: "object",
  binaryOptions: "object",
  maxTimeoutMs: "number",
  requireConnectProtocolHeader: "boolean",
  shutdownSignal: "object",
  requestGate: "function",
};

export interface Runtime {
  /** The compressions of RPC if `acceptCompression` is not set. */
  readonly compressions: readonly Compression[];
  /** The content codings for REST answers, in order of preference. */
  readonly codings: readonly AnswerCoding[];
}

interface Found {
  readonly exchange: Exchange;
  readonly route: Route;
}

/** @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`. */
export function createGateway(options: CommonOptions, { compressions, codings }: Runtime) {
  const { observer, onError = logError, requestPathPrefix = "", exposePeerAddress } = options;
  const { notFoundError } = options;
  const acceptCompression = options.acceptCompression ?? [...compressions];
  const endpoints = collectEndpoints({ ...options, acceptCompression, onError }, options.routes);
  const applyCors = options.cors && createCors(options.cors);
  const settings = resolveRestOptions(options.rest ?? {});
  const { origins = [] } = options.cors ?? {};
  const findRoute = createRoutes(
    { endpoints, prefix: requestPathPrefix, settings, codings, origins },
    options.mcp,
  );

  function begin({ exchange, route }: Found): CallObservation | undefined {
    const { method: requestMethod, target, headers } = exchange;
    const { method, methodOf, pathTemplate: path } = route;
    const pathTemplate = path && requestPathPrefix + path;
    const protocol = route.protocol ?? protocolOf(headers, route.isRpc);
    const peerAddress = () => plainAddress(exchange.peerAddress);
    const request = { method, pathTemplate, protocol, requestMethod, target, headers, peerAddress };
    if (methodOf !== undefined) {
      Object.defineProperty(request, "method", { get: () => methodOf(exchange) });
    }
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
    if (exchange.origin === "")
      throw badHead("Host must name one host, and the target be a percent-encoded path");
    if (repeated !== undefined) throw badHead(`the header ${repeated} must be sent once`);
    applyCors?.(exchange, route.allow);
    if (route.kind === "not_found") exchange.respond(notFound(exchange, route, notFoundError?.()));
    else if (route.kind === "method_not_allowed") exchange.respond(methodNotAllowed(route));
    if (route.kind !== "call") return undefined;
    let values = makeValues();
    if (exposePeerAddress === true) {
      values ??= createContextValues();
      values.set(peerAddressKey, plainAddress(exchange.peerAddress));
    }
    if (observation?.calling !== undefined) {
      values ??= createContextValues();
      guarded(observation.calling.bind(observation), values);
    }
    return route.serve(exchange, values);
  }

  /**
   * Resolves when the answer has been handed over.
   *
   * @param repeated A header that may be sent only once, but was repeated.
   * @param makeValues Creates the initial context values.
   */
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
    const { error, status } = exchange;
    guarded(observation.end.bind(observation), { code: error?.code, error, status });
  }

  /** An observer that throws does not affect the request. */
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

  const find = (method: string, target: string) => findRoute(method, parseRequestTarget(target));
  return { find, serve };
}

function badHead(message: string): RestFailure {
  return new RestFailure(400, Code.InvalidArgument, message);
}

const nothing = "nothing is served at this path";

function nothingServed(): ConnectError {
  return new ConnectError(nothing, Code.Unimplemented);
}

function notFound(
  { headers }: Exchange,
  { isRpc, renderError }: Route,
  error: ConnectError | undefined,
): Response {
  const protocol = protocolOf(headers, isRpc);
  if (protocol.startsWith("grpc")) return trailersOnly({ headers }, error ?? nothingServed());
  if (error !== undefined) {
    return errorResponse(error, {
      renderError: protocol === "connect" ? renderConnect : (renderError ?? renderStatus),
    });
  }
  if (protocol === "rest") throw new RestFailure(404, Code.NotFound, nothing);
  return emptyResponse(404, nothingServed());
}

const renderConnect: RenderError = ({ status, error }) => ({
  status,
  body: errorToJson(error, undefined),
});

function methodNotAllowed({ isRpc, allow }: Route): Response {
  const header = {
    allow: allow.join(", "), // RFC 9110 section 15.5.6
    ...(allow.includes("QUERY") && { "accept-query": "application/json" }), // RFC 10008 section 3
  };
  const error = new RestFailure(
    405,
    Code.Unimplemented,
    `the method must be ${header.allow}`,
    header,
  );
  if (!isRpc) throw error;
  return emptyResponse(405, error, header);
}
