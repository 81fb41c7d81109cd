import type { DescMethod, toBinary } from "@bufbuild/protobuf";
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
import { assertOptions, optionKinds } from "./options.ts";
import { withLegacyCheck } from "./required-fields.ts";

export interface MessageLimits {
  /**
   * The maximum number of values in a message from a client, at every depth: those of JSON, or the
   * fields of protobuf, known or not. What takes more memory or time counts as several: an empty message
   * as 2, and 1 for each field that it has from the start. Default: 262,144.
   */
  readonly readMaxValues?: number;
}

export interface OwnOptions extends MessageLimits, ErrorListener {
  /**
   * Called for each call after `requestGate` and before its body is read. Throw a ConnectError to
   * reject it: `unavailable`, for example, where its method has no room. Default: all are admitted.
   */
  readonly admit?: (context: HandlerContext) => void | Promise<void>;
  /**
   * Called with the name of an unknown type of a `google.protobuf.Any` in a response, which has no
   * JSON. The call fails with INTERNAL. Default: not reported.
   */
  readonly onUnknownType?: OnUnknownType;
}

export const endpointOptionKinds = optionKinds<ConnectRouterOptions & OwnOptions>()({
  function: "onError onUnknownType admit requestGate",
  object: "jsonOptions binaryOptions shutdownSignal",
  boolean: "grpc grpcWeb connect requireConnectProtocolHeader",
  "number from 0": "compressMinBytes",
  "positive number": "readMaxValues readMaxBytes writeMaxBytes maxTimeoutMs",
  "list of objects": "acceptCompression",
  "list of functions": "interceptors",
});

/** One method of one service, with everything that serves it. */
export interface Endpoint {
  readonly spec: MethodImplSpec;
  /** The router's options, overridden by those of the service or method. */
  readonly options: UniversalHandlerOptions & OwnOptions & Required<MessageLimits>;
  readonly codecs: Codecs;
  /** Whether messages of protobuf are passed on unread. */
  readonly passesOn: boolean;
  /** Its path, and the protocols and HTTP methods of RPC. */
  readonly rpc: Rpc;
}

type Rpc = Omit<UniversalHandler, "supportedContentType">;

/** @throws {ConnectError} INVALID_ARGUMENT if the options leave no protocol, as in connect-es. */
function rpcProtocolsOf({ grpc, grpcWeb, connect }: ConnectRouterOptions): string[] {
  const options = { grpc, "grpc-web": grpcWeb, connect };
  const names = Object.entries(options).flatMap(([name, is]) => (is === false ? [] : [name]));
  if (names.length > 0) return names;
  throw new ConnectError("cannot create handler, all protocols are disabled", Code.InvalidArgument);
}

function rpcOf(method: DescMethod, protocolNames: string[]): Rpc {
  const { parent: service, name, idempotency, methodKind } = method;
  const isSafe = idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const hasGet = isSafe && methodKind === "unary" && protocolNames.includes("connect");
  const requestPath = `/${service.typeName}/${name}`;
  const allowedMethods = hasGet ? ["POST", "GET"] : ["POST"];
  return { method, service, requestPath, protocolNames, allowedMethods };
}

/**
 * Runs the application's route definitions and returns what they register. Options merge as in
 * connect-es: each option of a service replaces the router's.
 */
export function collectEndpoints(
  routerOptions: ConnectRouterOptions & OwnOptions,
  routes: (router: ConnectRouter) => void,
  writeBinary?: typeof toBinary,
): Endpoint[] {
  const base = { ...routerOptions, ...validateUniversalHandlerOptions(routerOptions) };
  const types = new TypeRegistry();
  types.addAll(base.jsonOptions?.registry);
  const endpoints: Endpoint[] = [];
  rpcProtocolsOf(base);

  function register(spec: MethodImplSpec, own?: ConnectRouterOptions, isPasser = false): void {
    assertOptions(spec.method.parent.typeName, own ?? {}, endpointOptionKinds);
    const merged = { ...base, ...own };
    const { readMaxValues = readMaxValuesDefault } = merged;
    const options = { ...merged, ...validateUniversalHandlerOptions(merged), readMaxValues };
    types.addAll(own?.jsonOptions?.registry);
    types.addFile(spec.method.parent.file);
    const first = own?.jsonOptions?.registry;
    const registry = first === undefined ? types.registry : types.before(first);
    options.jsonOptions = { ...options.jsonOptions, registry };
    options.interceptors = withLegacyCheck(spec.method.input, options.interceptors);
    const passesOn =
      isPasser && options.binaryOptions === undefined && areBlind(options.interceptors);
    // A service or method with its own options gets its protocols only from them.
    const rpc = rpcOf(spec.method, rpcProtocolsOf(own ?? base));
    const codecs = createCodecs(spec.method, { ...options, passesOn, writeBinary });
    endpoints.push({ spec, options, codecs, passesOn, rpc });
  }

  const recorder: ConnectRouter = {
    // They say what is registered. Importing what could call them takes 8 KB of a bundle.
    get handlers() {
      return endpoints.map(({ rpc }) => rpc as UniversalHandler);
    },
    service(service, implementation, own) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) register(spec, own, passers.has(implementation));
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
