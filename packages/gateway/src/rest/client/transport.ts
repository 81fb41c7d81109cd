import {
  create,
  type DescMessage,
  type DescMethod,
  type JsonReadOptions,
  type JsonWriteOptions,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  createContextValues,
  type Interceptor,
  type StreamRequest,
  type Transport,
  type UnaryRequest,
} from "@connectrpc/connect";
import { createAsyncIterable, runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import { trailerDemux } from "@connectrpc/connect/protocol-connect";
import type { HttpRuleSchema } from "../../../gen/google/api/http_pb.ts";
import { readMaxValuesDefault } from "../../codec/decode.ts";
import { TypeRegistry } from "../../codec/type-registry.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import { bytesOf } from "../../http/body.ts";
import { assertOptions, optionKinds } from "../../rpc/options.ts";
import { createRule } from "../options.ts";
import { isHttpBody } from "../rule/http-body.ts";
import { readMessage, readMessages } from "./answer.ts";
import { lost, readError } from "./error.ts";
import { type RestRequest, Routes, unimplemented, verbOf } from "./request.ts";

export interface RestTransportOptions {
  /** The URL that the paths of the rules continue: `https://api.example.com/base`. */
  readonly baseUrl: string;
  /**
   * Rules for methods that their proto does not annotate, as `rest.rules` of a gateway. They replace
   * the method's annotation.
   */
  readonly rules?: readonly MessageInitShape<typeof HttpRuleSchema>[];
  /** Sends the requests. Default: that of the runtime. */
  readonly fetch?: typeof globalThis.fetch;
  readonly interceptors?: readonly Interceptor[];
  /** `useProtoFieldName` is for queries, too. Default: unknown members of responses are ignored. */
  readonly jsonOptions?: Partial<JsonReadOptions & JsonWriteOptions>;
  /** How bodies write 64-bit integers: as ProtoJSON's `string`, or as `number`. Default `string`. */
  readonly int64?: "string" | "number";
  /** The largest message of a response, in bytes. Default: 4 MiB, as in gRPC. */
  readonly readMaxBytes?: number;
  /** The most values that it may have, as in the gateway's `MessageLimits`. Default: 262,144. */
  readonly readMaxValues?: number;
  /**
   * Whether the server reads client streams as NDJSON, as connect-gateway does. The runtime must be
   * able to stream request bodies, as servers' runtimes are. Default: no; they are `unimplemented`.
   */
  readonly clientStreams?: boolean;
}

const kinds = {
  ...optionKinds<Omit<RestTransportOptions, "int64">>()({
    string: "baseUrl",
    list: "rules interceptors",
    function: "fetch",
    object: "jsonOptions",
    number: "readMaxBytes readMaxValues",
    boolean: "clientStreams",
  }),
  int64: ["string", "number"],
};

/**
 * Creates a transport for `createClient` that calls a REST server by `google.api.http` rules.
 *
 * @throws {TypeError} for an option that there is not, or of another kind.
 */
export function createRestTransport(options: RestTransportOptions): Transport {
  assertOptions("createRestTransport", options, kinds);
  const caller = new RestCaller(options);
  return {
    unary: async (method, signal, timeoutMs, header, message, contextValues) => {
      const { req, ...call } = caller.open(method, signal, timeoutMs, header, contextValues);
      return await runUnaryCall({
        ...call,
        req: { ...req, stream: false, message },
        async next(request) {
          const message = caller.write(method, request.message);
          const { reading, response } = await caller.send(method, request, message);
          const read = await readMessage(response, reading);
          return { stream: false, ...responseOf(method, response), message: read as never };
        },
      });
    },
    stream: async (method, signal, timeoutMs, header, message, contextValues) => {
      const { req, ...call } = caller.open(method, signal, timeoutMs, header, contextValues);
      return await runStreamingCall({
        ...call,
        req: { ...req, stream: true, message },
        async next(request) {
          const { response, messages } = await caller.stream(method, request);
          return { stream: true, ...responseOf(method, response), message: messages as never };
        },
      });
    },
  };
}

type Message = MessageShape<DescMessage>;

class RestCaller {
  readonly #options: RestTransportOptions;
  readonly #base: string;
  readonly #routes: Routes;
  readonly #types = new TypeRegistry();
  readonly #jsonOptions;

  constructor(options: RestTransportOptions) {
    const { baseUrl, rules = [], int64 = "string", jsonOptions } = options;
    this.#options = options;
    this.#base = parseBase(baseUrl);
    this.#routes = new Routes({ rules: rules.map(createRule), onRuleError() {} });
    this.#types.addAll(jsonOptions?.registry);
    const { registry } = this.#types;
    this.#jsonOptions = { ignoreUnknownFields: true, ...jsonOptions, registry, int64 };
  }

  /** How to run a call. Interceptors see the template, as the path depends on the message. */
  open<M extends DescMethod>(
    method: M,
    signal: AbortSignal | undefined,
    timeoutMs = 0,
    given?: HeadersInit,
    contextValues = createContextValues(),
  ) {
    this.#types.addFile(method.parent.file);
    const [binding] = this.#routes.of(method);
    const header = new Headers(given);
    if (timeoutMs > 0) {
      const ms = Math.ceil(timeoutMs);
      header.set("connect-timeout-ms", `${ms}`);
      header.set("grpc-timeout", `${Math.min(ms, 99_999_999)}m`); // of grpc-gateway and Envoy
    }
    const requestMethod = binding === undefined ? "POST" : verbOf(binding);
    const url = `${this.#base}${binding?.template.text ?? ""}`;
    const req = { service: method.parent, method, header, contextValues, requestMethod, url };
    const interceptors = [...(this.#options.interceptors ?? [])];
    const limit = (timeoutMs > 0 ? timeoutMs : undefined) as number;
    return { req, interceptors, timeoutMs: limit, ...(signal && { signal }) };
  }

  write(method: DescMethod, message: Message): RestRequest {
    return this.#routes.write(method, message, this.#jsonOptions);
  }

  /** @throws {ConnectError} of the server, or of the way to it. */
  async send(
    { output, methodKind }: DescMethod,
    { header, signal }: Pick<UnaryRequest, "header" | "signal">,
    { binding, verb, target, contentType, body }: RestRequest,
    stream?: ReadableStream<Uint8Array>,
  ) {
    const part = binding.responseBody;
    if (contentType) header.set("content-type", contentType);
    if (!header.has("accept")) {
      const json = methodKind === "server_streaming" ? streamTypes : "application/json";
      header.set("accept", isHttpBody(output, part) ? "*/*" : json);
    }
    const { fetch = globalThis.fetch, readMaxBytes = 4 * 1024 * 1024 } = this.#options;
    const { readMaxValues = readMaxValuesDefault } = this.#options;
    const response = await fetch(`${this.#base}${target}`, {
      ...{ method: verb, headers: header, body: body ?? null, signal },
      // It may turn another method into a GET.
      redirect: verb === "GET" || verb === "HEAD" ? "follow" : "manual",
      // Runtimes take no stream without `duplex`, which their types lack.
      ...(stream && { body: stream, duplex: "half" }),
    } as RequestInit).catch((cause) => Promise.reject(lost(cause)));
    if (!response.ok) throw await readError(response, this.#types.registry);
    const limits = { readMaxBytes, readMaxValues };
    return { response, reading: { output, part, ...limits, jsonOptions: this.#jsonOptions } };
  }

  async stream(method: DescMethod, request: StreamRequest) {
    const { methodKind, input } = method;
    if (methodKind === "bidi_streaming") {
      throw unimplemented(method, "HTTP has no form for streams in both directions");
    }
    const isUpload = methodKind === "client_streaming";
    if (isUpload && this.#options.clientStreams !== true) {
      throw unimplemented(method, "client streams need the option clientStreams");
    }
    const messages = request.message[Symbol.asyncIterator]();
    let next = await messages.next();
    const first = this.write(method, next.done === true ? create(input) : next.value);
    if (!isUpload) {
      const { response, reading } = await this.send(method, request, first);
      return { response, messages: readMessages(response, reading) };
    }
    let failure: unknown;
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (next.done === true) return controller.close();
        try {
          const { target, body = "null" } = this.write(method, next.value);
          if (target !== first.target) throw badRequest([new FieldViolation("", unlikeFirst)]);
          controller.enqueue(typeof body === "string" ? bytesOf(`${body}\n`) : body);
          next = await messages.next();
        } catch (error) {
          failure = error;
          controller.error(error);
        }
      },
    });
    const type = typeof first.body === "object" ? first.contentType : "application/x-ndjson";
    try {
      const message = { ...first, contentType: type };
      const { response, reading } = await this.send(method, request, message, body);
      return { response, messages: createAsyncIterable([await readMessage(response, reading)]) };
    } catch (error) {
      throw failure ?? error;
    }
  }
}

/** Events say their end, and errors that no message looks like. */
const streamTypes =
  "text/event-stream, application/x-ndjson;q=0.9, application/json;q=0.8, */*;q=0.1";

const unlikeFirst = "must say the same in path and query as the first message of its stream";

function responseOf<M extends DescMethod>(method: M, { headers }: Response) {
  const [header, trailer] = trailerDemux(headers);
  return { service: method.parent, method, header, trailer };
}

function parseBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.search === "" && url.hash === "") return url.href.replace(/\/$/, "");
  throw new TypeError(`createRestTransport.baseUrl must be a URL without a query: ${text}`);
}
