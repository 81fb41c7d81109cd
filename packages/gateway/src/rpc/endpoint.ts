import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type HandlerContext,
  type MethodImplSpec,
} from "@connectrpc/connect";
import {
  type UniversalHandler,
  type UniversalHandlerOptions,
  validateUniversalHandlerOptions,
} from "@connectrpc/connect/protocol";
import { type Codecs, createCodecs } from "../codec/codec.ts";
import { readMaxValuesDefault } from "../codec/decode.ts";
import type { OnUnknownType } from "../codec/json-writer.ts";
import { TypeRegistry } from "../codec/type-registry.ts";
import type { ErrorListener } from "../errors/errors.ts";
import { definedOnly } from "./options.ts";
import { withLegacyCheck } from "./required-fields.ts";

export interface MessageLimits {
  /**
   * The maximum number of values in a message from a client, at every depth: those of JSON, or the
   * fields of protobuf, known or not. What takes more memory or time counts as several: an empty message
   * as 2, and 1 for each field that it has from the start. Default: 262,144.
   */
  readonly readMaxValues?: number;
}

export interface TypeListener {
  /**
   * Called with the name of an unknown type of a `google.protobuf.Any` in a response, which has no
   * JSON. The call fails with INTERNAL. Default: not reported.
   */
  readonly onUnknownType?: OnUnknownType;
}

export interface StreamLimits {
  /**
   * How long a stream may be idle, without a message in either direction, in ms. It then ends with
   * DEADLINE_EXCEEDED. Default: no limit.
   */
  readonly streamIdleTimeoutMs?: number;
}

export interface Admission {
  /**
   * Called for each call after `requestGate` and before its body is read. Throw a ConnectError to
   * reject it: `unavailable`, for example, where its method has no room. Default: all are admitted.
   */
  readonly admit?: (context: HandlerContext) => void;
}

/** The router's options, overridden by those of the service or method. */
export type EndpointOptions = UniversalHandlerOptions &
  Admission &
  MessageLimits &
  StreamLimits &
  TypeListener &
  ErrorListener;

/** One method of one service, with everything that serves it. */
export interface Endpoint {
  readonly spec: MethodImplSpec;
  readonly options: EndpointOptions & Required<MessageLimits>;
  readonly codecs: Codecs;
  /** The handler of connect-es, for its path, protocols and HTTP methods. */
  readonly rpc: UniversalHandler;
}

/**
 * Runs the application's route definitions and returns what they register. Options merge as in
 * connect-es: each option of a service replaces the router's. JSON is read exactly, in every
 * protocol.
 */
export function collectEndpoints(
  routerOptions: ConnectRouterOptions &
    Admission &
    MessageLimits &
    StreamLimits &
    TypeListener &
    ErrorListener,
  routes: (router: ConnectRouter) => void,
): Endpoint[] {
  const base = { ...routerOptions, ...validateUniversalHandlerOptions(routerOptions) };
  const types = new TypeRegistry();
  types.addAll(base.jsonOptions?.registry);
  const stock = createConnectRouter(base);
  const endpoints: Endpoint[] = [];

  function register(spec: MethodImplSpec, own: ConnectRouterOptions | undefined): void {
    const { grpc, grpcWeb, connect, ...merged } = { ...base, ...own };
    const { readMaxValues = readMaxValuesDefault } = merged;
    const options = { ...merged, ...validateUniversalHandlerOptions(merged), readMaxValues };
    types.addAll(own?.jsonOptions?.registry);
    types.addFile(spec.method.parent.file);
    options.jsonOptions = { ...options.jsonOptions, registry: types.registry };
    options.interceptors = withLegacyCheck(spec.method.input, options.interceptors);
    // A service or method with its own options gets its protocols only from them.
    const given = own ?? base;
    const protocols = { grpc: given.grpc, grpcWeb: given.grpcWeb, connect: given.connect };
    stock.rpc(spec.method, spec.impl as never, { ...options, ...definedOnly(protocols) });
    const rpc = stock.handlers.at(-1);
    const codecs = createCodecs(spec.method, options);
    if (rpc !== undefined) endpoints.push({ spec, options, codecs, rpc });
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
