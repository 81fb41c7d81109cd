import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
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
import type { OnUnknownType } from "../codec/json-messages.ts";
import { passers } from "../codec/passed.ts";
import { TypeRegistry } from "../codec/type-registry.ts";
import type { ErrorListener } from "../errors/errors.ts";
import { areBlind } from "./blind.ts";
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

interface OwnOptions extends Admission, MessageLimits, StreamLimits, TypeListener, ErrorListener {}

/** The router's options, overridden by those of the service or method. */
export type EndpointOptions = UniversalHandlerOptions & OwnOptions;

/** One method of one service, with everything that serves it. */
export interface Endpoint {
  readonly spec: MethodImplSpec;
  readonly options: EndpointOptions & Required<MessageLimits>;
  readonly codecs: Codecs;
  /** Whether messages of protobuf are passed on unread. */
  readonly passesOn: boolean;
  /** Its path, and the protocols and HTTP methods of RPC. */
  readonly rpc: Rpc;
}

type Rpc = Omit<UniversalHandler, "supportedContentType">;

const rpcProtocols = [
  ["grpc", "grpc"],
  ["grpcWeb", "grpc-web"],
  ["connect", "connect"],
] as const;

/** @throws {ConnectError} INVALID_ARGUMENT if the options leave no protocol, as in connect-es. */
function rpcProtocolsOf(options: ConnectRouterOptions): readonly string[] {
  const names = rpcProtocols.flatMap(([option, name]) => (options[option] === false ? [] : [name]));
  if (names.length > 0) return names;
  const message = "cannot create handler, all protocols are disabled";
  throw new ConnectError(message, Code.InvalidArgument);
}

function rpcOf(method: DescMethod, protocolNames: readonly string[]): Rpc {
  const hasGet =
    protocolNames.includes("connect") &&
    method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return {
    method,
    service: method.parent,
    requestPath: `/${method.parent.typeName}/${method.name}`,
    protocolNames: [...protocolNames],
    allowedMethods: hasGet ? ["POST", "GET"] : ["POST"],
  };
}

/**
 * Runs the application's route definitions and returns what they register. Options merge as in
 * connect-es: each option of a service replaces the router's. JSON is read exactly, in every
 * protocol.
 */
export function collectEndpoints(
  routerOptions: ConnectRouterOptions & OwnOptions,
  routes: (router: ConnectRouter) => void,
): Endpoint[] {
  const base = { ...routerOptions, ...validateUniversalHandlerOptions(routerOptions) };
  const types = new TypeRegistry();
  types.addAll(base.jsonOptions?.registry);
  const endpoints: Endpoint[] = [];
  const handlers: Rpc[] = [];
  rpcProtocolsOf(base);

  function register(
    spec: MethodImplSpec,
    own: ConnectRouterOptions | undefined,
    isPasser = false,
  ): void {
    const merged = { ...base, ...own };
    const { readMaxValues = readMaxValuesDefault } = merged;
    const options = { ...merged, ...validateUniversalHandlerOptions(merged), readMaxValues };
    types.addAll(own?.jsonOptions?.registry);
    types.addFile(spec.method.parent.file);
    options.jsonOptions = { ...options.jsonOptions, registry: types.registry };
    options.interceptors = withLegacyCheck(spec.method.input, options.interceptors);
    const passesOn =
      isPasser && options.binaryOptions === undefined && areBlind(options.interceptors);
    // A service or method with its own options gets its protocols only from them.
    const rpc = rpcOf(spec.method, rpcProtocolsOf(own ?? base));
    handlers.push(rpc);
    endpoints.push({
      spec,
      options,
      codecs: createCodecs(spec.method, { ...options, passesOn }),
      passesOn,
      rpc,
    });
  }

  const recorder: ConnectRouter = {
    // They say what is registered. Importing what could call them takes 8 KB of a bundle.
    handlers: handlers as UniversalHandler[],
    service(service, implementation, own) {
      const { methods } = createServiceImplSpec(service, implementation);
      const isPasser = passers.has(implementation);
      for (const spec of Object.values(methods)) register(spec, own, isPasser);
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
