import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
} from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import {
  getJsonOptions,
  type UniversalHandlerOptions,
  validateUniversalHandlerOptions,
} from "@connectrpc/connect/protocol";
import { definedOnly } from "../call/defined-only.ts";
import { tellRuleViolations } from "../call/rule-violations.ts";
import { watchOutcome } from "../call/stream-outcome.ts";
import { type ErrorListener, reportingOptions } from "../call/unexpected.ts";
import { exactJsonDecoder } from "../json/messages.ts";
import type { JsonOptions } from "../json/scalar.ts";

/** What bounds the work for a message, besides the options of connect-es. */
export interface MessageLimits {
  /**
   * How many values a message may have that a client sends, at every depth: those of
   * JSON, or the fields of protobuf, known or not. Looked at before anything is made
   * of them, since a short body may hold very many. Not for protobuf in streams of
   * gRPC, gRPC-Web and Connect. Default: any number.
   */
  readonly readMaxValues?: number;
}

/** The router's options, with those of the service or method on top. */
export type EndpointOptions = Omit<UniversalHandlerOptions, "acceptCompression"> &
  MessageLimits &
  ErrorListener & { readonly acceptCompression: readonly Compression[] };

/** One method of one service, with all that serves it. */
export interface Endpoint {
  readonly spec: MethodImplSpec;
  readonly options: EndpointOptions;
  /** The stock handler of connect-es for gRPC, gRPC-Web and Connect. */
  readonly rpc: UniversalHandler;
}

/**
 * Runs the application's route definitions, and returns what they register.
 * Options merge as in connect-es: those of a service replace the router's, one
 * by one. JSON is read exactly, on every protocol.
 *
 * @param isObserved Whether somebody wants to know how streams end.
 */
export function collectEndpoints(
  routerOptions: ConnectRouterOptions & MessageLimits & ErrorListener,
  routes: (router: ConnectRouter) => void,
  isObserved = false,
): Endpoint[] {
  const base = { ...routerOptions, ...validateUniversalHandlerOptions(routerOptions) };
  const stock = createConnectRouter(base);
  const endpoints: Endpoint[] = [];

  function register(spec: MethodImplSpec, own: ConnectRouterOptions | undefined): void {
    const { grpc, grpcWeb, connect, ...merged } = { ...base, ...own };
    const options = { ...merged, ...validateUniversalHandlerOptions(merged) };
    if (isObserved && spec.kind !== "unary") options.requestGate = watchOutcome(merged.requestGate);
    const readOptions = getJsonOptions(options.jsonOptions) as JsonOptions;
    const textDecoder = exactJsonDecoder(spec.method.input, readOptions, options.readMaxValues);
    const jsonOptions = { ...options.jsonOptions, textDecoder };
    // What has options of its own gets its protocols from them alone.
    const protocols = definedOnly(protocolSwitches(own ?? base));
    // The gateway calls unary methods itself.
    const calling = spec.kind === "unary" ? {} : stockCallOptions(options);
    const all = { ...options, ...calling, ...protocols, jsonOptions };
    stock.rpc(spec.method, spec.impl as never, all);
    const rpc = stock.handlers.at(-1);
    if (rpc !== undefined) endpoints.push({ spec, options, rpc });
  }

  const recorder: ConnectRouter = {
    handlers: stock.handlers,
    service(service, implementation, own) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) register(spec, own);
      return recorder;
    },
    rpc(method, implementation, own) {
      register(createMethodImplSpec(method, implementation), own);
      return recorder;
    },
  };
  routes(recorder);
  return endpoints;
}

/** Of methods that connect-es serves. Without interceptors there are no violations to tell. */
function stockCallOptions(options: UniversalHandlerOptions & ErrorListener) {
  const { interceptors } = options;
  const telling = interceptors.length > 0 ? [tellRuleViolations, ...interceptors] : [];
  return reportingOptions({ ...options, interceptors: telling }, options);
}

function protocolSwitches({ grpc, grpcWeb, connect }: ConnectRouterOptions) {
  return { grpc, grpcWeb, connect };
}
