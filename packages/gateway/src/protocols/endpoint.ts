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
import { withLegacyCheck } from "../call/field-behavior.ts";
import { tellRuleViolations } from "../call/rule-violations.ts";
import { watchOutcome } from "../call/stream-outcome.ts";
import { type ErrorListener, reportingOptions } from "../call/unexpected.ts";
import { exactJsonDecoder } from "../json/messages.ts";
import type { JsonOptions } from "../json/scalar.ts";
import { TypeRegistry } from "../json/type-registry.ts";

/** Limits on the work for a message, in addition to the options of connect-es. */
export interface MessageLimits {
  /**
   * The maximum number of values in a message from a client, at every depth: those of JSON, or the
   * fields of protobuf, known or not. Checked before anything is created from them, because a short
   * body may contain very many. Not applied to protobuf in streams of gRPC, gRPC-Web and Connect.
   * Default: no limit.
   */
  readonly readMaxValues?: number;
}

/** The router's options, overridden by those of the service or method. */
export type EndpointOptions = Omit<UniversalHandlerOptions, "acceptCompression"> &
  MessageLimits &
  ErrorListener & { readonly acceptCompression: readonly Compression[] };

/** One method of one service, with everything that serves it. */
export interface Endpoint {
  readonly spec: MethodImplSpec;
  readonly options: EndpointOptions;
  /** The connect-es handler for gRPC, gRPC-Web and Connect. */
  readonly rpc: UniversalHandler;
}

/**
 * Runs the application's route definitions and returns what they register. Options merge as in
 * connect-es: each option of a service replaces the router's. JSON is read exactly, in every
 * protocol.
 *
 * @param isObserved Whether to report how streams end.
 */
export function collectEndpoints(
  routerOptions: ConnectRouterOptions & MessageLimits & ErrorListener,
  routes: (router: ConnectRouter) => void,
  isObserved = false,
): Endpoint[] {
  const base = { ...routerOptions, ...validateUniversalHandlerOptions(routerOptions) };
  const types = new TypeRegistry();
  types.addAll(base.jsonOptions?.registry);
  const stock = createConnectRouter(base);
  const endpoints: Endpoint[] = [];

  function register(spec: MethodImplSpec, own: ConnectRouterOptions | undefined): void {
    const { grpc, grpcWeb, connect, ...merged } = { ...base, ...own };
    const options = { ...merged, ...validateUniversalHandlerOptions(merged) };
    types.addAll(own?.jsonOptions?.registry);
    types.addFile(spec.method.parent.file);
    options.jsonOptions = { ...options.jsonOptions, registry: types.registry };
    options.interceptors = withLegacyCheck(spec.method.input, options.interceptors);
    if (isObserved && spec.kind !== "unary") options.requestGate = watchOutcome(merged.requestGate);
    const readOptions = getJsonOptions(options.jsonOptions) as JsonOptions;
    const textDecoder = exactJsonDecoder(spec.method.input, readOptions, options.readMaxValues);
    const jsonOptions = { ...options.jsonOptions, textDecoder };
    // A service or method with its own options gets its protocols only from them.
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

/**
 * Options for methods that connect-es serves. Without interceptors, there are no violations to
 * report.
 */
function stockCallOptions(options: UniversalHandlerOptions & ErrorListener) {
  const { interceptors } = options;
  const telling = interceptors.length > 0 ? [tellRuleViolations, ...interceptors] : [];
  return reportingOptions({ ...options, interceptors: telling }, options);
}

function protocolSwitches({ grpc, grpcWeb, connect }: ConnectRouterOptions) {
  return { grpc, grpcWeb, connect };
}
