/** The options of an adapter, as data. */
import type { DescService } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createContextValues,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { getJsonOptions } from "@connectrpc/connect/protocol";
import {
  type ConnectNodeAdapterOptions,
  compressionBrotli,
  compressionGzip,
} from "@connectrpc/connect-node";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { TypeRegistry } from "../../src/codec/type-registry.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { exactJsonDecoder } from "../support/exact-json-decoder.ts";
import { valueKey } from "./observation.ts";
import { createRepair } from "./repair.ts";

/** Options have their meaning in the adapter; absent means absent. */
export interface Setup {
  readonly readMaxBytes?: number;
  readonly writeMaxBytes?: number;
  readonly compressMinBytes?: number;
  readonly acceptCompression?: readonly ("gzip" | "br")[];
  readonly maxTimeoutMs?: number;
  readonly requireConnectProtocolHeader?: boolean;
  readonly requestPathPrefix?: string;
  readonly jsonOptions?: {
    readonly alwaysEmitImplicit?: boolean;
    readonly useProtoFieldName?: boolean;
    readonly enumAsInteger?: boolean;
    readonly ignoreUnknownFields?: boolean;
  };
  readonly binaryOptions?: {
    readonly readUnknownFields?: boolean;
    readonly writeUnknownFields?: boolean;
  };
  readonly gate?: boolean;
  readonly interceptors?: number;
  readonly contextValues?: "set" | "undefined" | "throws";
  readonly shutdownSignal?: "open" | "aborted";
  readonly fallback?: boolean;
  readonly grpc?: boolean;
  readonly grpcWeb?: boolean;
  readonly connect?: boolean;
  /** The stock side reads JSON as connect-es does, not as the gateway. */
  readonly plainJson?: boolean;
  /** Copies the headers of an interceptor's response correctly; see the list of differences. */
  readonly repaired?: boolean;
  /** The options of the service. Each replaces that of the router. */
  readonly service?: Setup;
}

/** What a call does, whichever adapter serves it. */
export interface Play {
  gate(context: HandlerContext): void | Promise<void>;
  interceptor(index: number): Interceptor;
  implementation(message: unknown, context: HandlerContext): unknown;
  /** The same of a stream. */
  stream(messages: AsyncIterable<unknown>, context: HandlerContext): AsyncIterable<unknown>;
  readonly shutdown: AbortController;
}

const compressions = { gzip: compressionGzip, br: compressionBrotli };

export function createOptions(
  setup: Setup,
  play: Play,
  register: (router: ConnectRouter, setup: Setup, play: Play) => void,
): ConnectNodeAdapterOptions {
  const { contextValues, fallback, requestPathPrefix } = setup;
  return {
    ...routerOptions(setup, play),
    ...(requestPathPrefix !== undefined && { requestPathPrefix }),
    ...(contextValues !== undefined && { contextValues: createValues(contextValues) }),
    ...(fallback && {
      fallback: (request, response) => {
        response.writeHead(418, { "x-method": `${request.method}` });
        response.end("the fallback");
      },
    }),
    routes: (router) => register(router, setup, play),
  };
}

function createValues(kind: NonNullable<Setup["contextValues"]>) {
  return (request: { readonly headers: Readonly<Record<string, unknown>> }) => {
    if (kind === "throws") throw new Error("contextValues throws");
    if (kind === "undefined") return undefined as never;
    return createContextValues().set(valueKey, `from ${String(request.headers["x-value"])}`);
  };
}

export function routerOptions(setup: Setup, play: Play): ConnectRouterOptions {
  const {
    acceptCompression,
    gate,
    interceptors,
    shutdownSignal,
    requestPathPrefix: _prefix,
    contextValues: _values,
    fallback: _fallback,
    service: _service,
    plainJson: _plainJson,
    repaired,
    ...plain
  } = setup;
  const repair = repaired && interceptors ? createRepair() : undefined;
  const before = shutdownSignal === "aborted";
  return {
    ...plain,
    ...(acceptCompression && {
      acceptCompression: acceptCompression.map((name) => compressions[name]),
    }),
    ...((gate || repair) && {
      requestGate: (context) => {
        repair?.begin(context);
        return gate ? play.gate(context) : undefined;
      },
    }),
    ...(interceptors && {
      interceptors: [
        ...(repair ? [repair.interceptor] : []),
        ...Array.from({ length: interceptors }, (_, i) => play.interceptor(i)),
      ],
    }),
    ...(shutdownSignal && {
      shutdownSignal: before ? AbortSignal.abort(new Error("shut down")) : play.shutdown.signal,
    }),
  };
}

/** Registers methods of each relevant kind: with and without GET, and streams. */
export function registerServices(router: ConnectRouter, setup: Setup, play: Play): void {
  const own = setup.service && routerOptions(setup.service, play);
  for (const [service, implementation] of services(play)) {
    router.service(service, implementation, own);
  }
}

/**
 * The same for connect-es, with the JSON of the gateway. The difference in JSON has its own tests.
 * Everything else must be the same.
 */
export function registerExactly(router: ConnectRouter, setup: Setup, play: Play): void {
  if (setup.plainJson) {
    registerServices(router, setup, play);
    return;
  }
  // A service with its own options gets its protocols only from them.
  const own = setup.service ? routerOptions(setup.service, play) : protocolSwitches(setup);
  const types = new TypeRegistry();
  for (const [{ file }] of services(play)) types.addFile(file);
  const jsonOptions = { ...(own.jsonOptions ?? setup.jsonOptions), registry: types.registry };
  const readOptions = getJsonOptions(jsonOptions) as JsonOptions;
  for (const [service, implementation] of services(play)) {
    const { methods } = createServiceImplSpec(service, implementation);
    for (const { method, impl } of Object.values(methods)) {
      const textDecoder = exactJsonDecoder(method.input, readOptions) as TextDecoder;
      const exactOptions = { ...jsonOptions, textDecoder };
      router.rpc(method, impl as never, { ...own, jsonOptions: exactOptions });
    }
  }
}

function services(play: Play): readonly (readonly [DescService, object])[] {
  const call = (message: unknown, context: HandlerContext) => play.implementation(message, context);
  return [
    [FieldService, { echo: call, ...streams(play) }],
    [LibraryService, { updateLibrary: call, countBooks: call }],
  ];
}

/** As the comments of the service say. */
function streams(play: Play) {
  return {
    exchange: (messages: AsyncIterable<unknown>, context: HandlerContext) =>
      play.stream(messages, context),
    async *repeat(message: unknown, context: HandlerContext) {
      for await (const answer of play.stream(once(message), context)) {
        yield answer;
        yield answer;
      }
    },
    async collect(messages: AsyncIterable<unknown>, context: HandlerContext) {
      let last: unknown = {};
      for await (const answer of play.stream(messages, context)) last = answer;
      return last;
    },
  };
}

async function* once(message: unknown) {
  yield message;
}

function protocolSwitches({ grpc, grpcWeb, connect }: Setup): ConnectRouterOptions {
  return {
    ...(grpc !== undefined && { grpc }),
    ...(grpcWeb !== undefined && { grpcWeb }),
    ...(connect !== undefined && { connect }),
  };
}
