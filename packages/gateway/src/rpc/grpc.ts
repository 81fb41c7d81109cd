/**
 * gRPC and gRPC-Web: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md and
 * PROTOCOL-WEB.md. They differ in how an answer ends.
 */
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import * as grpc from "@connectrpc/connect/protocol-grpc";
import * as grpcWeb from "@connectrpc/connect/protocol-grpc-web";
import type { Codec } from "../codec/codec.ts";
import { concat } from "../http/body.ts";
import { type Ending, type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { Base64Decoder, base64Of } from "./base64.ts";
import { serveCall } from "./call.ts";
import { CallContext } from "./context.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  type EnvelopeErrors,
  type EnvelopeReading,
  readEnvelope,
  readEnvelopes,
  requestErrors,
  writeEnvelope,
} from "./envelope.ts";
import { wrapEnvelope } from "./envelope-splitter.ts";
import { connectErrorFrom, withTrailerMessage } from "./errors.ts";
import {
  type Failure,
  headDelayMs,
  type Message,
  type Parts,
  type Protocol,
  type ServeRpc,
  type StreamWire,
} from "./protocol.ts";

/** The trailers of a call if the application added none. */
const okTrailer = { "grpc-status": grpc.grpcStatusOk };

export function createGrpc(endpoint: Endpoint): Protocol {
  const { binary, json } = endpoint.codecs;
  const create = (codec: Codec, contentType: string) =>
    createHandler(endpoint, { ...asGrpc, codec, contentType });
  const proto = create(binary, grpc.contentTypeProto);
  const asJson = create(json, grpc.contentTypeJson);
  return {
    name: "grpc",
    methods: ["POST"],
    handlerFor(contentType) {
      const type = grpc.parseContentType(contentType);
      return type && (type.binary ? proto : asJson);
    },
  };
}

export function createGrpcWeb(endpoint: Endpoint): Protocol {
  const { binary, json } = endpoint.codecs;
  const create = (codec: Codec, contentType: string, isText: boolean) =>
    createHandler(endpoint, { ...asGrpcWeb, codec, contentType, isText });
  const text = (contentType: string) => contentType.replace("grpc-web", "grpc-web-text");
  const proto = create(binary, grpcWeb.contentTypeProto, false);
  const asJson = create(json, grpcWeb.contentTypeJson, false);
  const textProto = create(binary, text(grpcWeb.contentTypeProto), true);
  const textJson = create(json, text(grpcWeb.contentTypeJson), true);
  return {
    name: "grpc-web",
    methods: ["POST"],
    handlerFor(contentType) {
      const type = grpcWeb.parseContentType(contentType);
      if (type === undefined) return undefined;
      if (type.text) return type.binary ? textProto : textJson;
      return type.binary ? proto : asJson;
    },
  };
}

interface Variant {
  readonly protocolName: "grpc" | "grpc-web";
  /** Marks envelopes that contain no message but trailers; 0 for none. */
  readonly endFlag: number;
  readonly isText: boolean;
  readonly codec: Codec;
  readonly contentType: string;
}

const asGrpc = { protocolName: "grpc", endFlag: 0, isText: false } as const;
const asGrpcWeb = { protocolName: "grpc-web", endFlag: grpcWeb.trailerFlag } as const;

function createHandler(endpoint: Endpoint, variant: Variant): ServeRpc {
  const { spec, options } = endpoint;
  const { protocolName, contentType } = variant;
  const plainHeader = { "content-type": contentType };
  const { readMaxBytes, maxTimeoutMs, compressMinBytes, shutdownSignal } = options;
  const errors = requestErrors(spec.kind);
  const method: GrpcMethod = { ...variant, errors, readMaxBytes, compressMinBytes };

  return (exchange, contextValues: ContextValues | undefined) => {
    const timeout = grpc.parseTimeout(headerOf(exchange, "grpc-timeout"), maxTimeoutMs);
    const compression = compressionNegotiate(
      options.acceptCompression,
      headerOf(exchange, "grpc-encoding"),
      headerOf(exchange, "grpc-accept-encoding"),
      grpc.headerAcceptEncoding,
    );
    const { response } = compression;
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName,
      timeoutMs: timeout.timeoutMs,
      shutdownSignal,
      contextValues,
      responseHeader: response ? { ...plainHeader, "grpc-encoding": response.name } : plainHeader,
      responseTrailer: okTrailer,
    });
    // gRPC cannot say how a call went where HTTP has no trailers; gRPC-Web and Connect can.
    const canEnd = exchange.hasTrailers || variant.endFlag !== 0;
    const refusal = compression.error ?? timeout.error ?? (canEnd ? undefined : missingTrailers());
    const wire = new GrpcWire(method, { exchange, context, compression }, refusal);
    return serveCall(endpoint, { exchange, context, wire });
  };
}

function missingTrailers(): ConnectError {
  const message =
    "gRPC needs HTTP trailers, which this server does not have: use gRPC-Web or Connect";
  return new ConnectError(message, Code.Unimplemented);
}

/**
 * The answer to a request of gRPC or gRPC-Web that calls nothing, in headers alone. Clients and load
 * balancers read the status of gRPC, not that of HTTP.
 */
export function trailersOnly(
  { headers }: Pick<Exchange, "headers">,
  error: ConnectError,
): Response {
  const type = { "content-type": headers["content-type"] };
  const header = { ...type, "grpc-status": error.code, "grpc-message": error.rawMessage };
  return { status: 200, header, body: "", error };
}

interface GrpcMethod extends Variant {
  readonly errors: EnvelopeErrors;
  readonly readMaxBytes: number;
  readonly compressMinBytes: number;
}

class GrpcWire implements StreamWire {
  readonly #method: GrpcMethod;
  readonly #parts: Parts;
  readonly refusal: ConnectError | undefined;
  readonly headDelayMs = headDelayMs;

  constructor(method: GrpcMethod, parts: Parts, refusal: ConnectError | undefined) {
    this.#method = method;
    this.#parts = parts;
    this.refusal = refusal;
  }

  get #reading(): EnvelopeReading<Message> {
    const { codec, readMaxBytes, endFlag, isText, errors } = this.#method;
    const { request } = this.#parts.compression;
    const reading = { compression: request, readMaxBytes, endFlag, errors, parse: codec.parse };
    if (!isText) return reading;
    const decoder = new Base64Decoder();
    return {
      ...reading,
      decode: (chunk) => decoder.push(chunk),
      assertDecoded: () => decoder.end(),
    };
  }

  read(): Promise<Message> {
    return readEnvelope(this.#parts.exchange, this.#reading);
  }

  readAll(): AsyncIterable<Message> {
    return readEnvelopes(this.#parts.exchange, this.#reading);
  }

  write(message: Message): Response | Promise<Response> {
    const envelope = this.#envelope(message);
    if (envelope instanceof Promise) return envelope.then((written) => this.#respond(written));
    return this.#respond(envelope);
  }

  fail(reason: unknown): Response | Promise<Response> {
    const error = this.#setStatus(reason);
    const { context, exchange } = this.#parts;
    if (this.#method.endFlag !== 0 || exchange.hasTrailers) return this.#respond(undefined, error);
    // Trailers-Only: the status among the headers.
    const header = { ...context.responseHeader.toNode(), ...context.responseTrailer.toNode() };
    return { status: 200, header: withoutLength(header), body: nothing, error };
  }

  head() {
    return { status: 200, header: withoutLength(this.#parts.context.responseHeader.toNode()) };
  }

  chunk(message: Message): Uint8Array | Promise<Uint8Array> {
    const envelope = this.#envelope(message);
    if (!this.#method.isText) return envelope;
    return envelope instanceof Promise ? envelope.then(base64Of) : base64Of(envelope);
  }

  end(failure: Failure | undefined): Ending | Promise<Ending> {
    const error = failure && this.#setStatus(failure.error);
    const { responseTrailer } = this.#parts.context;
    if (this.#method.endFlag === 0)
      return { trailer: withoutLength(responseTrailer.toNode()), error };
    const last = this.#trailerEnvelope();
    const end = (bytes: Uint8Array) => {
      return { body: this.#method.isText ? base64Of(bytes) : bytes, error };
    };
    return last instanceof Promise ? last.then(end) : end(last);
  }

  #envelope(message: Message): Uint8Array | Promise<Uint8Array> {
    const { codec, compressMinBytes } = this.#method;
    const { response } = this.#parts.compression;
    return writeEnvelope(codec.serialize(message), response, compressMinBytes);
  }

  #setStatus(reason: unknown): ConnectError {
    const failure = withTrailerMessage(connectErrorFrom(reason));
    grpc.setTrailerStatus(this.#parts.context.responseTrailer, failure);
    return failure;
  }

  #respond(message: Uint8Array | undefined, error?: ConnectError): Response | Promise<Response> {
    const { responseHeader, responseTrailer } = this.#parts.context;
    const header = responseHeader.toNode();
    if (this.#method.endFlag === 0) {
      const trailer = withoutLength(responseTrailer.toNode());
      const head = { status: 200, header: withoutLength(header) };
      return { ...head, body: message ?? nothing, trailer, error };
    }
    const trailer = this.#trailerEnvelope();
    const respond = (last: Uint8Array) => {
      const bytes = message === undefined ? last : concat(message, last);
      const body = this.#method.isText ? base64Of(bytes) : bytes;
      // Node accepts a `Trailer` field only with chunked encoding, which it uses if the length is
      // missing.
      const sized = "trailer" in header ? header : { ...header, "content-length": body.length };
      return { status: 200, header: sized, body, error };
    };
    return trailer instanceof Promise ? trailer.then(respond) : respond(trailer);
  }

  /** The last envelope of gRPC-Web: the trailers as header lines. */
  #trailerEnvelope(): Uint8Array | Promise<Uint8Array> {
    const { context, compression } = this.#parts;
    const { responseTrailer } = context;
    const isOk = responseTrailer.toNode() === okTrailer;
    if (isOk && compression.response === null) return okEnvelope;
    const lines = isOk ? okLines : grpcWeb.trailerSerialize(responseTrailer);
    return writeEnvelope(
      lines,
      compression.response,
      this.#method.compressMinBytes,
      grpcWeb.trailerFlag,
    );
  }
}

const nothing = new Uint8Array(0);
const okLines = new TextEncoder().encode(`grpc-status: ${okTrailer["grpc-status"]}\r\n`);
const okEnvelope = wrapEnvelope(grpcWeb.trailerFlag, okLines);
