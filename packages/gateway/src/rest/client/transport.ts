import {
  create,
  type DescMethod,
  type JsonReadOptions,
  type JsonWriteOptions,
  type MessageInitShape,
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
import { takesNull } from "../../codec/json-messages.ts";
import { TypeRegistry } from "../../codec/type-registry.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import { bytesOf } from "../../http/body.ts";
import { assertOptions, optionKinds, timerMaxMs } from "../../rpc/options.ts";
import { createRule } from "../options.ts";
import { isHttpBody } from "../rule/http-body.ts";
import { readMessage, readMessages } from "./answer.ts";
import { lost, readError } from "./error.ts";
import { createRoutes, type RestRequest, unimplemented, verbOf } from "./request.ts";

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

const kinds = optionKinds<RestTransportOptions>()({
  string: "baseUrl",
  "list of objects": "rules",
  function: "fetch",
  "list of functions": "interceptors",
  object: "jsonOptions",
  "positive number": "readMaxBytes readMaxValues",
  boolean: "clientStreams",
  "one of string, number": "int64",
});

/**
 * Creates a transport for `createClient` that calls a REST server by `google.api.http` rules.
 * @throws {TypeError} for an option that there is not, or of another kind.
 */
export function createRestTransport(options: RestTransportOptions): Transport {
  assertOptions("createRestTransport", options, kinds);
  const { baseUrl, rules = [], int64 = "string", clientStreams = false } = options;
  const { readMaxBytes = 4 * 1024 * 1024, readMaxValues = readMaxValuesDefault } = options;
  const base = parseBase(baseUrl);
  const types = new TypeRegistry();
  types.addAll(options.jsonOptions?.registry);
  const { registry } = types;
  const jsonOptions = { ignoreUnknownFields: true, ...options.jsonOptions, registry, int64 };
  const routes = createRoutes({ rules: rules.map(createRule), onRuleError() {} }, jsonOptions);
  const limits = { readMaxBytes, readMaxValues, jsonOptions };

  /** How to run a call. Interceptors see the template, as the path depends on the message. */
  function open<M extends DescMethod>(
    method: M,
    signal: AbortSignal | undefined,
    timeoutMs = 0,
    given?: HeadersInit,
    contextValues = createContextValues(),
  ) {
    types.addFile(method.parent.file);
    const [binding] = routes.of(method);
    const header = new Headers(given);
    const isLimited = timeoutMs > 0 && timeoutMs <= timerMaxMs;
    if (isLimited) {
      const ms = Math.ceil(timeoutMs);
      header.set("connect-timeout-ms", `${ms}`);
      header.set("grpc-timeout", `${Math.min(ms, 99_999_999)}m`); // of grpc-gateway and Envoy
    }
    const requestMethod = binding === undefined ? "POST" : verbOf(binding);
    const url = `${base}${binding?.template.text ?? ""}`;
    const req = { service: method.parent, method, header, contextValues, requestMethod, url };
    const interceptors = [...(options.interceptors ?? [])];
    const limit = (isLimited ? timeoutMs : undefined) as number;
    return { req, interceptors, timeoutMs: limit, ...(signal && { signal }) };
  }

  /** @throws {ConnectError} of the server, or of the way to it. */
  async function send(
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
    const { fetch = globalThis.fetch } = options;
    const response = await fetch(`${base}${target}`, {
      ...{ method: verb, headers: header, body: body ?? null, signal },
      // It may turn another method into a GET.
      redirect: verb === "GET" || verb === "HEAD" ? "follow" : "manual",
      // Runtimes take no stream without `duplex`, which their types lack.
      ...(stream && { body: stream, duplex: "half" }),
    } as RequestInit).catch((cause) => Promise.reject(lost(cause)));
    if (!response.ok) throw await readError(response, registry);
    return { response, reading: { output, part, ...limits } };
  }

  async function sendStream(method: DescMethod, request: StreamRequest) {
    const { methodKind, input } = method;
    if (methodKind === "bidi_streaming") {
      throw unimplemented(method, "HTTP has no form for streams in both directions");
    }
    const isUpload = methodKind === "client_streaming";
    if (isUpload && !clientStreams) {
      throw unimplemented(method, "client streams need the option clientStreams");
    }
    const messages = request.message[Symbol.asyncIterator]();
    let next = await messages.next();
    const first = routes.write(method, next.done ? create(input) : next.value);
    if (!isUpload) {
      const { response, reading } = await send(method, request, first);
      return { response, messages: readMessages(response, reading) };
    }
    let failure: unknown;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (next.done === true) return controller.close();
        try {
          const { binding, target, body } = routes.write(method, next.value);
          if (target !== first.target) throw badRequest([new FieldViolation("", unlikeFirst)]);
          if (body === undefined && typeof binding.body === "object" && takesNull(binding.body)) {
            throw badRequest([new FieldViolation(binding.body.jsonName, nullIsValue)]);
          }
          controller.enqueue(typeof body === "object" ? body : bytesOf(`${body ?? null}\n`));
          next = await messages.next();
        } catch (error) {
          failure = error;
          controller.error(error);
        }
      },
    });
    const contentType = typeof first.body === "object" ? first.contentType : "application/x-ndjson";
    try {
      const { response, reading } = await send(method, request, { ...first, contentType }, body);
      return { response, messages: createAsyncIterable([await readMessage(response, reading)]) };
    } catch (error) {
      throw failure ?? error;
    }
  }

  return {
    unary: async (method, signal, timeoutMs, given, message, contextValues) => {
      const { req, ...call } = open(method, signal, timeoutMs, given, contextValues);
      return await runUnaryCall({
        ...call,
        req: { ...req, stream: false, message },
        async next(request) {
          const written = routes.write(method, request.message);
          const { reading, response } = await send(method, request, written);
          const read = await readMessage(response, reading);
          return { stream: false, ...responseOf(method, response), message: read as never };
        },
      });
    },
    stream: async (method, signal, timeoutMs, given, message, contextValues) => {
      const { req, ...call } = open(method, signal, timeoutMs, given, contextValues);
      return await runStreamingCall({
        ...call,
        req: { ...req, stream: true, message },
        async next(request) {
          const { response, messages } = await sendStream(method, request);
          return { stream: true, ...responseOf(method, response), message: messages as never };
        },
      });
    },
  };
}

/** Events say their end, and errors that no message looks like. */
const streamTypes =
  "text/event-stream, application/x-ndjson;q=0.9, application/json;q=0.8, */*;q=0.1";

const unlikeFirst = "must say the same in path and query as the first message of its stream";
const nullIsValue = "must be set: the line null is a value of its type";

function responseOf<M extends DescMethod>(method: M, { headers }: Response) {
  const [header, trailer] = trailerDemux(headers);
  return { service: method.parent, method, header, trailer };
}

function parseBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.search === "" && url.hash === "") return url.href.replace(/\/$/, "");
  throw new TypeError(`createRestTransport.baseUrl must be a URL without a query: ${text}`);
}
