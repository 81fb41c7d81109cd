/** Streams of the Connect protocol: https://connectrpc.com/docs/protocol#streaming-rpcs */
import type { ConnectError } from "@connectrpc/connect";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import {
  contentTypeStreamJson,
  contentTypeStreamProto,
  endStreamFlag,
  endStreamToJson,
  headerStreamAcceptEncoding,
  parseContentType,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Codec } from "../codec/codec.ts";
import { type Body, concat } from "../http/body.ts";
import { type Ending, headerOf, type Response } from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { serveCall } from "./call.ts";
import { versionErrorOf } from "./connect.ts";
import { CallContext } from "./context.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  type EnvelopeReading,
  readEnvelope,
  readEnvelopes,
  requestErrors,
  writeEnvelope,
} from "./envelope.ts";
import { connectErrorFrom } from "./errors.ts";
import {
  type Failure,
  headDelayMs,
  type Message,
  type Parts,
  type Protocol,
  type ServeRpc,
  type StreamWire,
} from "./protocol.ts";

export function createConnectStreams(endpoint: Endpoint): Protocol {
  const binary = createServe(endpoint, endpoint.codecs.binary, contentTypeStreamProto);
  const json = createServe(endpoint, endpoint.codecs.json, contentTypeStreamJson);
  return {
    name: "connect",
    methods: ["POST"],
    handlerFor(contentType) {
      const type = parseContentType(contentType);
      if (type === undefined || !type.stream) return undefined;
      return type.binary ? binary : json;
    },
  };
}

function createServe(endpoint: Endpoint, codec: Codec, contentType: string): ServeRpc {
  const { spec, options } = endpoint;
  const plainHeader = { "content-type": contentType };

  return (exchange, contextValues) => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), options.maxTimeoutMs);
    const compression = compressionNegotiate(
      options.acceptCompression,
      headerOf(exchange, "connect-content-encoding"),
      headerOf(exchange, "connect-accept-encoding"),
      headerStreamAcceptEncoding,
    );
    const { response } = compression;
    const coding = response && { "connect-content-encoding": response.name };
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "connect",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal: options.shutdownSignal,
      contextValues,
      responseHeader: { ...plainHeader, ...coding },
      responseTrailer: {},
    });
    const version = options.requireConnectProtocolHeader ? versionErrorOf(exchange) : undefined;
    const refusal = version ?? compression.error ?? timeout.error;
    const wire = new ConnectStreamWire(
      endpoint,
      { exchange, context, compression, codec },
      refusal,
    );
    return serveCall(endpoint, { exchange, context, wire });
  };
}

type StreamParts = Parts & { readonly codec: Codec };

class ConnectStreamWire implements StreamWire {
  readonly #endpoint: Endpoint;
  readonly #parts: StreamParts;
  readonly refusal: ConnectError | undefined;
  readonly headDelayMs = headDelayMs;

  constructor(endpoint: Endpoint, parts: StreamParts, refusal: ConnectError | undefined) {
    this.#endpoint = endpoint;
    this.#parts = parts;
    this.refusal = refusal;
  }

  get #reading(): EnvelopeReading<Message> {
    const { spec, options } = this.#endpoint;
    const { compression, codec } = this.#parts;
    return {
      compression: compression.request,
      readMaxBytes: options.readMaxBytes,
      endFlag: endStreamFlag,
      parse: codec.parse,
      errors: requestErrors(spec.kind),
    };
  }

  read(): Promise<Message> {
    return readEnvelope(this.#parts.exchange, this.#reading);
  }

  readAll(): AsyncIterable<Message> {
    return readEnvelopes(this.#parts.exchange, this.#reading);
  }

  async write(message: Message): Promise<Response> {
    return { ...this.head(), body: concat(await this.chunk(message), await this.#last()) };
  }

  async fail(error: unknown): Promise<Response> {
    return { ...this.head(), ...(await this.end({ error })) };
  }

  head() {
    return { status: 200, header: withoutLength(this.#parts.context.responseHeader.toNode()) };
  }

  chunk(message: Message): Uint8Array | Promise<Uint8Array> {
    return this.#envelope(this.#parts.codec.serialize(message));
  }

  async end(failure: Failure | undefined): Promise<Ending & { readonly body: Uint8Array }> {
    const error = failure && connectErrorFrom(failure.error);
    return { body: await this.#last(error), error };
  }

  #last(error?: ConnectError): Uint8Array | Promise<Uint8Array> {
    const { responseTrailer } = this.#parts.context;
    const end = endStreamToJson(responseTrailer, error, this.#endpoint.options.jsonOptions);
    return this.#envelope(JSON.stringify(end), endStreamFlag);
  }

  #envelope(body: Body, flags?: number): Uint8Array | Promise<Uint8Array> {
    const { response } = this.#parts.compression;
    return writeEnvelope(body, response, this.#endpoint.options.compressMinBytes, flags);
  }
}
