/** Unary calls of the Connect protocol: https://connectrpc.com/docs/protocol */
import { base64Decode } from "@bufbuild/protobuf/wire";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { compressionNegotiate, mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
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
import { type Codec, messageTooLarge } from "../codec/codec.ts";
import { type Body, type BodyLimit, byteLengthOf, bytesOf, readBody } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { resolveUrl } from "../http/target.ts";
import { serveCall } from "./call.ts";
import { CallContext, headerWithTrailer, noTrailer } from "./context.ts";
import type { Endpoint } from "./endpoint.ts";
import { connectErrorFrom } from "./errors.ts";
import {
  type Message,
  type Parts,
  type Protocol,
  type ServeRpc,
  type UnaryWire,
  unsupportedMediaType,
} from "./protocol.ts";
import { unpack } from "./unpack.ts";

/** The content of a unary request, from headers and body, or from the query. */
interface ConnectRequest {
  readonly codec: Codec;
  readonly compression: string | null;
  readonly versionError: () => ConnectError | undefined;
  /** Reads the message, compressed or not, and returns what `parse` makes of it. */
  readonly read: <T>(parse: Parse<T>) => T | Promise<T>;
}

type Parse<T> = (bytes: Uint8Array) => T | Promise<T>;

export function createConnectUnary(endpoint: Endpoint): Protocol {
  const { spec, codecs } = endpoint;
  const hasGet = spec.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const serve = createServe(endpoint);
  const bytesMax = endpoint.options.readMaxBytes;
  const limit = {
    bytesMax,
    tooLarge: () => messageTooLarge(bytesMax),
  };
  const post = (codec: Codec): ServeRpc => {
    return (exchange, values) => serve(exchange, values, postRequest(exchange, codec, limit));
  };
  const binary = post(codecs.binary);
  const json = post(codecs.json);
  const get: ServeRpc = (exchange, values) => {
    const request = getRequest(exchange, codecs);
    if (request !== undefined) return serve(exchange, values, request);
    exchange.respond(unsupportedMediaType());
    return undefined;
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
    versionError: () => versionErrorOf(exchange),
    read: (parse) => readBody(exchange, limit, parse),
  };
}

export function versionErrorOf(exchange: Exchange): ConnectError | undefined {
  const version = headerOf(exchange, "connect-protocol-version");
  if (version === protocolVersion) return undefined;
  return wrongVersion(
    version === null
      ? `missing required header: set ${headerProtocolVersion} to "${protocolVersion}"`
      : `${headerProtocolVersion} must be "${protocolVersion}": got "${version}"`,
  );
}

/**
 * The query of a GET: https://connectrpc.com/docs/protocol#unary-get-request. If a parameter is
 * repeated, the first one counts.
 *
 * @returns undefined for an unknown encoding.
 */
function getRequest(exchange: Exchange, codecs: Endpoint["codecs"]): ConnectRequest | undefined {
  const { search, searchParams: query } = new URL(resolveUrl(exchange.origin, exchange.target));
  const encoding = query.get("encoding");
  if (encoding !== "proto" && encoding !== "json") return undefined;
  return {
    codec: encoding === "proto" ? codecs.binary : codecs.json,
    compression: query.get("compression"),
    versionError() {
      const version = query.get("connect");
      if (version === `v${protocolVersion}`) return undefined;
      return wrongVersion(
        version === null
          ? `missing required parameter: set connect to "v${protocolVersion}"`
          : `connect must be "v${protocolVersion}": got "${version}"`,
      );
    },
    read(parse) {
      const isBase64 = query.get("base64") === "1";
      const message = isBase64
        ? decodeBase64(query.get("message") ?? "")
        : rawMessage(search.slice(1));
      return parse(message);
    },
  };
}

function decodeBase64(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch (cause) {
    const message = "protocol error: the parameter message is not base64";
    throw new ConnectError(message, Code.InvalidArgument, undefined, undefined, cause);
  }
}

/** The bytes of a parameter. URLSearchParams would replace those that are not UTF-8. */
function rawMessage(query: string): Uint8Array {
  const part = query.split("&").find((one) => new URLSearchParams(`&${one}`).has("message")) ?? "";
  const equals = part.indexOf("=");
  const value = equals < 0 ? "" : part.slice(equals + 1).replaceAll("+", " ");
  const bytes = value.replace(/%([\dA-Fa-f]{2})/g, (_, hex) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)); // a URL contains only ASCII
}

function wrongVersion(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}

function createServe(endpoint: Endpoint) {
  const { spec, options, codecs } = endpoint;
  const binaryHeader = { "content-type": contentTypeUnaryProto };
  const jsonHeader = { "content-type": contentTypeUnaryJson };

  return (
    exchange: Exchange,
    contextValues: ContextValues | undefined,
    request: ConnectRequest,
  ) => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), options.maxTimeoutMs);
    const compression = compressionNegotiate(
      options.acceptCompression,
      request.compression,
      headerOf(exchange, "accept-encoding"),
      headerUnaryAcceptEncoding,
    );
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "connect",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal: options.shutdownSignal,
      contextValues,
      responseHeader: request.codec === codecs.binary ? binaryHeader : jsonHeader,
      responseTrailer: noTrailer,
    });
    const version = options.requireConnectProtocolHeader ? request.versionError() : undefined;
    const refusal = version ?? compression.error ?? timeout.error;
    const wire = new ConnectWire(endpoint, { exchange, request, context, compression }, refusal);
    return serveCall(endpoint, { exchange, context, wire });
  };
}

type UnaryParts = Parts & { readonly request: ConnectRequest };

class ConnectWire implements UnaryWire {
  readonly #options: Endpoint["options"];
  readonly #parts: UnaryParts;
  readonly refusal: ConnectError | undefined;

  constructor({ options }: Endpoint, parts: UnaryParts, refusal: ConnectError | undefined) {
    this.#options = options;
    this.#parts = parts;
    this.refusal = refusal;
  }

  read(): Message | Promise<Message> {
    const { exchange, request, compression } = this.#parts;
    const { parse } = request.codec;
    const decompress = compression.request;
    if (decompress === null) return request.read(parse);
    const { readMaxBytes } = this.#options;
    const options = { readMaxBytes, holding: exchange.holding };
    return request.read((bytes) => unpack(bytes, decompress, options).then(parse));
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
    // RFC 9110 section 15.5.2.
    if (error.code === Code.Unauthenticated && !responseHeader.has("www-authenticate")) {
      responseHeader.set("www-authenticate", "Bearer");
    }
    return this.#answer(errorToJsonBytes(error, this.#options.jsonOptions), error);
  }

  #answer(body: Body, error?: ConnectError): Response | Promise<Response> {
    const compress = this.#parts.compression.response;
    const isSmall = byteLengthOf(body) < this.#options.compressMinBytes;
    if (compress === null || isSmall) return this.#respond(body, error);
    return compress.compress(bytesOf(body)).then((compressed) => {
      this.#parts.context.responseHeader.set("content-encoding", compress.name);
      return this.#respond(compressed, error);
    });
  }

  #respond(body: Body, error: ConnectError | undefined): Response {
    const status = error === undefined ? 200 : codeToHttpStatus(error.code);
    const own = headerWithTrailer(this.#parts.context);
    return { status, header: { ...own, "content-length": byteLengthOf(body) }, body, error };
  }
}
