/** Unary calls of the Connect protocol: https://connectrpc.com/docs/protocol */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
  headerProtocolVersion,
  headerUnaryAcceptEncoding,
  parseContentType,
  parseTimeout,
  protocolVersion,
} from "@connectrpc/connect/protocol-connect";
import { serveUnary, type UnaryWire } from "./call.ts";
import { CallContext } from "./context.ts";
import { connectErrorFrom } from "./outcome.ts";
import { type Body, byteLengthOf, bytesOf } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { type BodyLimit, readBody } from "../http/read-body.ts";
import { resolveUrl } from "../http/target.ts";
import type { Codec } from "./codec.ts";
import type { EndpointOptions } from "./endpoint.ts";
import { createNegotiator, type Negotiated } from "./negotiation.ts";
import { headerWithTrailer, noTrailer } from "./trailer-header.ts";
import {
  type UnaryEndpoint,
  type UnaryHandler,
  type UnaryProtocol,
  unsupportedMediaType,
} from "./unary.ts";
import { parseConnectQuery } from "./connect-query.ts";

/** The content of a request, from headers and body, or from the query. */
interface ConnectRequest {
  readonly codec: Codec;
  readonly compression: string | null;
  /** Checks the protocol version. @throws {ConnectError} INVALID_ARGUMENT. */
  readonly assertVersion: () => void;
  /** Reads the message, compressed or not, and returns what `parse` makes of it. */
  readonly read: <T>(parse: Parse<T>) => T | Promise<T>;
}

type Message = MessageShape<DescMessage>;

type Parse<T> = (bytes: Uint8Array) => T | Promise<T>;

export function createConnect(endpoint: UnaryEndpoint): UnaryProtocol {
  const { spec, codecs } = endpoint;
  const hasGet = spec.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const call = createCall(endpoint);
  const bytesMax = endpoint.options.readMaxBytes;
  const limit = { bytesMax, tooLarge: (size: number | undefined) => tooLarge(size, bytesMax) };
  const post = (codec: Codec): UnaryHandler => {
    return (exchange, contextValues) =>
      call(exchange, contextValues, postRequest(exchange, codec, limit));
  };
  const binary = post(codecs.binary);
  const json = post(codecs.json);
  const get: UnaryHandler = async (exchange, contextValues) => {
    const request = getRequest(exchange, codecs);
    if (request === undefined) exchange.respond(unsupportedMediaType);
    else await call(exchange, contextValues, request);
  };
  return {
    name: "connect",
    methods: hasGet ? ["POST", "GET"] : ["POST"],
    handlerFor(contentType, method) {
      const type = parseContentType(contentType);
      if (method === "GET") return contentType === "" || type?.stream === false ? get : undefined;
      if (type === undefined || type.stream) return undefined;
      return type.binary ? binary : json;
    },
  };
}

function postRequest(exchange: Exchange, codec: Codec, limit: BodyLimit): ConnectRequest {
  return {
    codec,
    compression: headerOf(exchange, "content-encoding"),
    assertVersion() {
      const version = headerOf(exchange, "connect-protocol-version");
      if (version === protocolVersion) return;
      throw wrongVersion(
        version === null
          ? `missing required header: set ${headerProtocolVersion} to "${protocolVersion}"`
          : `${headerProtocolVersion} must be "${protocolVersion}": got "${version}"`,
      );
    },
    read: (parse) => readBody(exchange, limit, parse),
  };
}

/** @returns undefined for an unknown encoding. */
function getRequest(
  exchange: Exchange,
  codecs: UnaryEndpoint["codecs"],
): ConnectRequest | undefined {
  const query = parseConnectQuery(resolveUrl(exchange.origin, exchange.target));
  const { encoding, compression, version, readMessage } = query;
  if (encoding !== "proto" && encoding !== "json") return undefined;
  return {
    codec: encoding === "proto" ? codecs.binary : codecs.json,
    compression,
    assertVersion() {
      if (version === `v${protocolVersion}`) return;
      throw wrongVersion(
        version === null
          ? `missing required parameter: set connect to "v${protocolVersion}"`
          : `connect must be "v${protocolVersion}": got "${version}"`,
      );
    },
    read: (parse) => parse(readMessage()),
  };
}

function tooLarge(size: number | undefined, bytesMax: number): ConnectError {
  const subject = size === undefined ? "message size" : `message size ${size}`;
  const message = `${subject} is larger than configured readMaxBytes ${bytesMax}`;
  return new ConnectError(message, Code.ResourceExhausted);
}

function wrongVersion(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

function createCall(endpoint: UnaryEndpoint) {
  const { spec, options, codecs } = endpoint;
  const { maxTimeoutMs, shutdownSignal } = options;
  const negotiate = createNegotiator(options.acceptCompression, headerUnaryAcceptEncoding);
  const binaryHeader = { "content-type": contentTypeUnaryProto };
  const jsonHeader = { "content-type": contentTypeUnaryJson };

  return (
    exchange: Exchange,
    contextValues: ContextValues | undefined,
    request: ConnectRequest,
  ): Promise<void> => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), maxTimeoutMs);
    const compression = negotiate(request.compression, headerOf(exchange, "accept-encoding"));
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "connect",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal,
      contextValues,
      responseHeader: request.codec === codecs.binary ? binaryHeader : jsonHeader,
      responseTrailer: noTrailer,
    });
    const refusal = compression.error ?? timeout.error;
    const call = new ConnectCall(options, { request, context, compression, refusal });
    return serveUnary(endpoint, exchange, context, call);
  };
}

interface ConnectCallParts {
  readonly request: ConnectRequest;
  readonly context: CallContext;
  readonly compression: Negotiated;
  /** Why to reject the call after the gate has admitted it. */
  readonly refusal: ConnectError | undefined;
}

class ConnectCall implements UnaryWire {
  readonly #options: EndpointOptions;
  readonly #parts: ConnectCallParts;

  constructor(options: EndpointOptions, parts: ConnectCallParts) {
    this.#options = options;
    this.#parts = parts;
  }

  read(): Message | Promise<Message> {
    const { requireConnectProtocolHeader, readMaxBytes } = this.#options;
    const { request, compression, refusal } = this.#parts;
    if (requireConnectProtocolHeader) request.assertVersion();
    if (refusal !== undefined) throw refusal;
    const { parse } = request.codec;
    const decompress = compression.request;
    if (decompress === null) return request.read(parse);
    return request.read((bytes) => decompress.decompress(bytes, readMaxBytes).then(parse));
  }

  write(message: Message): Response | Promise<Response> {
    return this.#answer(this.#parts.request.codec.serialize(message));
  }

  fail(reason: unknown): Response | Promise<Response> {
    const { responseHeader } = this.#parts.context;
    const error = connectErrorFrom(reason);
    responseHeader.set("content-type", contentTypeUnaryJson);
    // If another service answered with this error, its headers are not ours to forward.
    if (!error.isWireError) mergeNonProtocolHeaders(responseHeader, error.metadata);
    return this.#answer(errorToJsonBytes(error, this.#options.jsonOptions), error.code);
  }

  #answer(body: Body, code?: Code): Response | Promise<Response> {
    const compress = this.#parts.compression.response;
    const isSmall = byteLengthOf(body) < this.#options.compressMinBytes;
    if (compress === null || isSmall) return this.#respond(body, code);
    return compress.compress(bytesOf(body)).then((compressed) => {
      this.#parts.context.responseHeader.set("content-encoding", compress.name);
      return this.#respond(compressed, code);
    });
  }

  #respond(body: Body, code: Code | undefined): Response {
    const status = code === undefined ? 200 : codeToHttpStatus(code);
    const own = headerWithTrailer(this.#parts.context);
    return { status, header: { ...own, "content-length": byteLengthOf(body) }, body, code };
  }
}
