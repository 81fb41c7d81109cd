/** Unary calls of the Connect protocol: https://connectrpc.com/docs/protocol */
import { base64Decode } from "@bufbuild/protobuf/wire";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  contentTypeUnaryProto,
  errorToJsonBytes,
  headerProtocolVersion,
  parseTimeout,
  protocolVersion,
} from "@connectrpc/connect/protocol-connect";
import { type Codec, messageTooLarge } from "../codec/codec.ts";
import { type Decoding, decode } from "../codec/decode.ts";
import { connectErrorFrom } from "../errors/errors.ts";
import { type Body, type BodyLimit, byteLengthOf, bytesOf, readBody } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { Call, headerWithTrailer, type Message, noTrailer, type Wire } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import { type Route, RpcRoute, unsupportedMediaType } from "./face.ts";
import { unpack } from "./unpack.ts";

const terms = {
  protocol: "connect",
  timeout: "connect-timeout-ms",
  parseTimeout,
  coding: "content-encoding",
  acceptCoding: "accept-encoding",
} as const;

/** The routes of a method for POST, by media type. */
export function connectRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  const { binary, json } = endpoint.codecs;
  return [
    [contentTypeUnaryProto, new ConnectRoute(endpoint, binary, contentTypeUnaryProto)],
    [contentTypeUnaryJson, new ConnectRoute(endpoint, json, contentTypeUnaryJson)],
  ];
}

export function connectGetRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  const { NO_SIDE_EFFECTS } = MethodOptions_IdempotencyLevel;
  if (endpoint.spec.method.idempotency !== NO_SIDE_EFFECTS) return [];
  const route = new ConnectGetRoute(endpoint);
  return ["", contentTypeUnaryProto, contentTypeUnaryJson].map((type) => [type, route]);
}

/** The message is in the body; in the query of a GET. */
class ConnectRoute extends RpcRoute<URL | undefined> implements Wire<URL | undefined> {
  readonly trailer = noTrailer;
  readonly #codec: Codec;
  readonly #decoding: Decoding<Message>;
  readonly #limit: BodyLimit;

  constructor(endpoint: Endpoint, codec: Codec, contentType: string) {
    super(endpoint, terms, contentType);
    this.#codec = codec;
    const { readMaxBytes: bytesMax, readMaxValues } = endpoint.options;
    this.#decoding = { parse: codec.parse, readMaxValues };
    this.#limit = { bytesMax, tooLarge: () => messageTooLarge(bytesMax) };
  }

  open(exchange: Exchange, values: ContextValues | undefined): Call<URL | undefined> | Response {
    const isChecked = this.options.requireConnectProtocolHeader;
    const refusal = isChecked ? versionErrorOf(exchange) : undefined;
    return new Call<URL | undefined>(this, exchange, values, { refusal });
  }

  read({ exchange, parts: url, compression }: Call<URL | undefined>): Message | Promise<Message> {
    const { holding } = exchange;
    let parse = (bytes: Uint8Array) => decode(bytes, this.#decoding, holding);
    const decompress = compression.request;
    if (decompress !== null) {
      const options = { readMaxBytes: this.options.readMaxBytes, holding };
      const decodeNext = parse;
      parse = (bytes) => unpack(bytes, decompress, options).then(decodeNext);
    }
    if (url === undefined) return readBody(exchange, this.#limit, parse);
    const bytes = messageOf(url);
    // What a compressed one becomes is limited.
    const isLarge = decompress === null && bytes.byteLength > this.#limit.bytesMax;
    if (isLarge) throw this.#limit.tooLarge();
    return parse(bytes);
  }

  write(call: Call<URL | undefined>, message: Message): Response | Promise<Response> {
    return this.#answer(call, this.#codec.serialize(message));
  }

  fail(call: Call<URL | undefined>, reason: unknown): Response | Promise<Response> {
    const { responseHeader } = call;
    const error = connectErrorFrom(reason);
    responseHeader.set("content-type", contentTypeUnaryJson);
    // If another service answered with this error, its headers are not ours to forward.
    if (!error.isWireError) mergeNonProtocolHeaders(responseHeader, error.metadata);
    // RFC 9110 section 15.5.2.
    if (error.code === Code.Unauthenticated && !responseHeader.has("www-authenticate")) {
      responseHeader.set("www-authenticate", "Bearer");
    }
    return this.#answer(call, errorToJsonBytes(error, this.options.jsonOptions), error);
  }

  #answer(
    call: Call<URL | undefined>,
    body: Body,
    error?: ConnectError,
  ): Response | Promise<Response> {
    const compress = call.compression.response;
    const size = byteLengthOf(body);
    const isLarge = size >= this.options.compressMinBytes;
    // A GET may be cached for clients that accept other codings.
    if (isLarge && call.parts !== undefined) call.responseHeader.append("vary", "accept-encoding");
    if (compress !== null && isLarge) {
      return compress.compress(bytesOf(body)).then((compressed) => {
        call.responseHeader.set("content-encoding", compress.name);
        return respond(call, compressed, compressed.byteLength, error);
      });
    }
    return respond(call, body, size, error);
  }
}

/** https://connectrpc.com/docs/protocol#unary-get-request. Of a repeated parameter, the first counts. */
class ConnectGetRoute extends ConnectRoute {
  readonly #json: ConnectRoute;

  constructor(endpoint: Endpoint) {
    const { binary, json } = endpoint.codecs;
    super(endpoint, binary, contentTypeUnaryProto);
    this.#json = new ConnectRoute(endpoint, json, contentTypeUnaryJson);
  }

  override open(
    exchange: Exchange,
    values: ContextValues | undefined,
  ): Call<URL | undefined> | Response {
    const url = new URL(exchange.url);
    const query = url.searchParams;
    const encoding = query.get("encoding");
    if (encoding !== "proto" && encoding !== "json") return unsupportedMediaType();
    const isChecked = this.options.requireConnectProtocolHeader;
    const refusal = isChecked ? queryVersionErrorOf(query) : undefined;
    const init = { parts: url, refusal, coding: query.get("compression") };
    return new Call(encoding === "json" ? this.#json : this, exchange, values, init);
  }
}

function respond(call: Call, body: Body, size: number, error: ConnectError | undefined): Response {
  const status = error === undefined ? 200 : codeToHttpStatus(error.code);
  const header = { ...headerWithTrailer(call), "content-length": size };
  return { status, header, body, error };
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

function queryVersionErrorOf(query: URLSearchParams): ConnectError | undefined {
  const version = query.get("connect");
  if (version === `v${protocolVersion}`) return undefined;
  return wrongVersion(
    version === null
      ? `missing required parameter: set connect to "v${protocolVersion}"`
      : `connect must be "v${protocolVersion}": got "${version}"`,
  );
}

function messageOf({ search, searchParams: query }: URL): Uint8Array {
  if (query.get("base64") === "1") return decodeBase64(query.get("message") ?? "");
  return rawMessage(search.slice(1));
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
