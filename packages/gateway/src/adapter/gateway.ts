/** Any Connect service over every protocol: turns an exchange, of any runtime, into one call. */
import type { toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { createErrorListener, guarded } from "../errors/errors.ts";
import { errorResponse, RestFailure, renderConnect, renderStatus } from "../errors/http.ts";
import { plainAddress } from "../http/address-key.ts";
import { smallResponse } from "../http/body.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import { onlyChunked } from "../http/headers.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { Call } from "../rpc/call.ts";
import { collectEndpoints, endpointOptionKinds, type OwnOptions } from "../rpc/endpoint.ts";
import type { Route } from "../rpc/face.ts";
import { trailersOnly } from "../rpc/grpc.ts";
import { assertPathPrefix, type OptionKindsOf, optionKinds } from "../rpc/options.ts";
import { run } from "../rpc/run.ts";
import { sendMessages } from "../rpc/streams.ts";
import { type CorsOptions, createCors, isPreflight } from "./cors.ts";
import { type CallObservation, type CallObserver, protocolOf } from "./observer.ts";
import { type CreateFace, createRoutes } from "./routes.ts";

/** The address of the client, if `exposePeerAddress` is set. */
export const peerAddressKey = createContextKey<string | undefined>(undefined, {
  description: "the address of the peer",
});

/** The options of a Connect router, with the same meaning, and those of REST. */
export interface CommonOptions extends ConnectRouterOptions, OwnOptions {
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
  readonly mcp?: CreateFace;
  /** Observes every request and its end: for metrics, logs, traces. Default: none. */
  readonly observer?: CallObserver;
  /** Stores the address of each client under `peerAddressKey`, for gate and interceptors. Default: no. */
  readonly exposePeerAddress?: boolean;
  /**
   * The error for a path at which nothing is served: unavailable, for example, while the services
   * are not known yet. Default, also for undefined: 404, and UNIMPLEMENTED over gRPC.
   */
  readonly notFoundError?: () => ConnectError | undefined;
}

export const commonOptionKinds: OptionKindsOf<CommonOptions> = {
  ...endpointOptionKinds,
  ...optionKinds<Omit<CommonOptions, keyof typeof endpointOptionKinds>>()({
    function: "routes mcp notFoundError",
    object: "rest cors observer bodyBudget",
    boolean: "exposePeerAddress",
    string: "requestPathPrefix",
  }),
};

export interface Runtime {
  /** The compressions of RPC if `acceptCompression` is not set. */
  readonly compressions: readonly Compression[];
  /** The content codings for REST answers, in order of preference. */
  readonly codings: readonly AnswerCoding[];
  /** Default: that of protobuf-es. */
  readonly writeBinary?: typeof toBinary;
}

/** @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`. */
export function createGateway(options: CommonOptions, runtime: Runtime) {
  const { compressions, codings, writeBinary } = runtime;
  const { observer, exposePeerAddress, requestPathPrefix: prefix = "", mcp } = options;
  const onError = createErrorListener(options);
  const onUnknownType = (name: string) => guarded(onError, () => options.onUnknownType?.(name));
  assertPathPrefix("requestPathPrefix", prefix);
  const acceptCompression = options.acceptCompression ?? [...compressions];
  const own = { ...options, acceptCompression, onError, onUnknownType };
  const endpoints = collectEndpoints(own, options.routes, writeBinary);
  const corsHeaderOf = options.cors && createCors(options.cors);
  const settings = resolveRestOptions(options.rest ?? {});
  const { origins = [] } = options.cors ?? {};
  const notFound = notFoundRoute(options.notFoundError);
  const find = createRoutes({ endpoints, prefix, settings, codings, origins }, mcp, notFound);

  /** Resolves when the answer has been handed over. @param makeValues The initial context values. */
  async function serve(
    exchange: Exchange,
    route: Route,
    makeValues?: () => ContextValues | undefined,
  ): Promise<void> {
    if (corsHeaderOf !== undefined && isPreflight(exchange)) {
      exchange.respond({ status: 204, header: corsHeaderOf(exchange, route), body: "" });
      return;
    }
    const observation = observer && guarded(onError, () => begin(exchange, route));
    try {
      const { problem } = exchange;
      if (problem === onlyChunked) throw new RestFailure(501, Code.Unimplemented, problem);
      if (problem !== undefined) throw new RestFailure(400, Code.InvalidArgument, problem);
      if (corsHeaderOf !== undefined) exchange.addHeader(corsHeaderOf(exchange, route));
      let values = route.isRefusal ? undefined : makeValues?.();
      if (!route.isRefusal && (exposePeerAddress || observation?.calling !== undefined)) {
        const prepared = values ?? createContextValues();
        if (exposePeerAddress) prepared.set(peerAddressKey, plainAddress(exchange.peerAddress));
        guarded(onError, () => observation?.calling?.(prepared));
        values = prepared;
      }
      const opening = route.open(exchange, values);
      const opened = opening instanceof Promise ? await opening : opening;
      const answer = opened instanceof Call ? await run(opened) : opened;
      if ("messages" in answer) await sendMessages(opened as Call, answer);
      else exchange.respond(answer);
    } catch (error) {
      if (!exchange.isClosed && !(error instanceof RestFailure)) onError(error);
      answerError(error, exchange);
    }
    if (exchange.omission !== undefined) onError(exchange.omission);
    if (observation === undefined) return;
    const { error, status } = exchange;
    guarded(onError, () => observation.end({ code: error?.code, error, status }));
  }

  function begin(exchange: Exchange, route: Route): CallObservation | undefined {
    const { method: requestMethod, target, headers } = exchange;
    const { method, pathTemplate: path } = route;
    const pathTemplate = path && prefix + path;
    // Only a path of RPC leaves the protocol to the media type, and has a template.
    const protocol = route.protocol ?? protocolOf(headers, path !== undefined);
    const peerAddress = () => plainAddress(exchange.peerAddress);
    const request = { method, pathTemplate, protocol, requestMethod, target, headers, peerAddress };
    if (route.methodOf !== undefined) {
      Object.defineProperty(request, "method", { get: () => route.methodOf?.(exchange) });
    }
    const observation = observer?.begin(request);
    if (observation?.responseHeader !== undefined) exchange.addHeader(observation.responseHeader);
    return observation;
  }

  function answerError(error: unknown, exchange: Exchange): void {
    if (exchange.isClosed) return;
    try {
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(responseFor(error));
    } catch (broken) {
      onError(broken);
      exchange.breakOff();
    }
  }

  /** Strangers cause errors, and `renderError` may be broken. */
  function responseFor(error: unknown): Response {
    try {
      return errorResponse(error, settings);
    } catch (broken) {
      onError(broken);
      return errorResponse(broken, { renderError: renderStatus });
    }
  }

  return { find, serve, notFound, answerError, responseFor, onError };
}

const nothing = "nothing is served at this path";

function notFoundRoute(notFoundError: CommonOptions["notFoundError"]): Route {
  return {
    ...{ protocol: undefined, method: undefined, pathTemplate: undefined, isRefusal: true },
    allow: () => [],
    open({ headers }) {
      const error = notFoundError?.();
      const nothingServed = error ?? new ConnectError(nothing, Code.Unimplemented);
      const protocol = protocolOf(headers, false);
      if (protocol.startsWith("grpc")) return trailersOnly(headers["content-type"], nothingServed);
      if (error !== undefined) {
        const renderError = protocol === "connect" ? renderConnect : renderStatus;
        return errorResponse(error, { renderError });
      }
      if (protocol === "rest") throw new RestFailure(404, Code.NotFound, nothing);
      return smallResponse(404, "", {}, nothingServed);
    },
  };
}
