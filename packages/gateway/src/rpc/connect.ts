/** The Connect protocol: https://connectrpc.com/docs/protocol */
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import * as connect from "@connectrpc/connect/protocol-connect";
import { type Codec, messageTooLarge } from "../codec/codec.ts";
import { type Decoding, decode } from "../codec/decode.ts";
import { connectErrorFrom } from "../errors/errors.ts";
import {
  type Body,
  type BodyLimit,
  byteLengthOf,
  bytesOf,
  concat,
  readBody,
} from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import {
  type Awaitable,
  Call,
  type Failure,
  headerWithTrailer,
  type Message,
  noTrailer,
  type StreamWire,
  type Wire,
} from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import { EnvelopeRoute, writeEnvelope } from "./envelope.ts";
import { needsDuplex, type Route, RpcRoute, unsupportedMediaType } from "./face.ts";
import { unpack } from "./unpack.ts";

const terms = {
  protocol: "connect",
  timeout: "connect-timeout-ms",
  parseTimeout: connect.parseTimeout,
  coding: "content-encoding",
  acceptCoding: "accept-encoding",
} as const;

const streamTerms = {
  ...terms,
  coding: "connect-content-encoding",
  acceptCoding: "connect-accept-encoding",
  answerCoding: "connect-content-encoding",
} as const;

/** The routes of a method for POST, by media type. */
export function connectRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  const { binary, json } = endpoint.codecs;
  const isUnary = endpoint.spec.kind === "unary";
  const prefix = isUnary ? "application/" : "application/connect+";
  const Kind = isUnary ? ConnectRoute : ConnectStreamRoute;
  const create = (codec: Codec, type: string) => [type, new Kind(endpoint, codec, type)] as const;
  return [create(binary, `${prefix}proto`), create(json, `${prefix}json`)];
}

export function connectGetRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  if (!endpoint.rpc.allowedMethods.includes("GET")) return [];
  const route = new ConnectGetRoute(endpoint);
  const types = ["", connect.contentTypeUnaryProto, connect.contentTypeUnaryJson];
  return types.map((type) => [type, route]);
}

/** With the URL of a GET. */
type UnaryCall = Call<URL | undefined>;

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

  open(exchange: Exchange, values: ContextValues | undefined): UnaryCall | Response {
    const refusal = versionErrorOf(exchange, this.options);
    return new Call<URL | undefined>(this, exchange, values, { refusal });
  }

  read({ exchange, parts: url, compression }: UnaryCall): Awaitable<Message> {
    const { holding } = exchange;
    let parse = (bytes: Uint8Array) => decode(bytes, this.#decoding, holding);
    const decompress = compression.request;
    if (decompress !== null) {
      const { readMaxBytes } = this.options;
      const decodeNext = parse;
      parse = (bytes) => unpack(bytes, decompress, readMaxBytes, holding).then(decodeNext);
    }
    if (url === undefined) return readBody(exchange, this.#limit, parse);
    const bytes = messageOf(url);
    // What a compressed one becomes is limited.
    const isLarge = decompress === null && bytes.byteLength > this.#limit.bytesMax;
    if (isLarge) throw this.#limit.tooLarge();
    return parse(bytes);
  }

  write(call: UnaryCall, message: Message): Awaitable<Response> {
    return this.#answer(call, this.#codec.serialize(message));
  }

  fail(call: UnaryCall, reason: unknown): Awaitable<Response> {
    const { responseHeader } = call;
    const error = connectErrorFrom(reason);
    responseHeader.set("content-type", connect.contentTypeUnaryJson);
    // If another service answered with this error, its headers are not ours to forward.
    if (!error.isWireError) mergeNonProtocolHeaders(responseHeader, error.metadata);
    // RFC 9110 section 15.5.2.
    if (error.code === Code.Unauthenticated && !responseHeader.has("www-authenticate")) {
      responseHeader.set("www-authenticate", "Bearer");
    }
    return this.#answer(call, connect.errorToJsonBytes(error, this.options.jsonOptions), error);
  }

  #answer(call: UnaryCall, body: Body, error?: ConnectError): Awaitable<Response> {
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
    super(endpoint, binary, connect.contentTypeUnaryProto);
    this.#json = new ConnectRoute(endpoint, json, connect.contentTypeUnaryJson);
  }

  override open(exchange: Exchange, values: ContextValues | undefined): UnaryCall | Response {
    const url = new URL(exchange.url);
    const query = url.searchParams;
    const encoding = query.get("encoding");
    if (encoding !== "proto" && encoding !== "json") return unsupportedMediaType();
    const refusal = this.options.requireConnectProtocolHeader
      ? versionError("parameter", "connect", `v${connect.protocolVersion}`, query.get("connect"))
      : undefined;
    const init = { parts: url, refusal, coding: query.get("compression") ?? "" };
    return new Call(encoding === "json" ? this.#json : this, exchange, values, init);
  }
}

/** https://connectrpc.com/docs/protocol#streaming-rpcs */
class ConnectStreamRoute extends EnvelopeRoute implements StreamWire {
  readonly trailer = noTrailer;

  constructor(endpoint: Endpoint, codec: Codec, contentType: string) {
    super(endpoint, { terms: streamTerms, contentType, codec, endFlag: connect.endStreamFlag });
  }

  open(exchange: Exchange, values: ContextValues | undefined): Call | Response {
    if (this.isBidi && !exchange.isDuplex) return needsDuplex();
    const refusal = versionErrorOf(exchange, this.options);
    return new Call(this, exchange, values, { refusal });
  }

  async write(call: Call, message: Message): Promise<Response> {
    const body = concat(await this.chunk(call, message), await this.#last(call));
    return { ...this.head(call), body };
  }

  async fail(call: Call, error: unknown): Promise<Response> {
    return { ...this.head(call), ...(await this.end(call, { error })) };
  }

  async end(call: Call, failure: Failure | undefined) {
    const error = failure && connectErrorFrom(failure.error);
    return { body: await this.#last(call, error), error };
  }

  #last(call: Call, error?: ConnectError): Uint8Array | Promise<Uint8Array> {
    const end = connect.endStreamToJson(call.responseTrailer, error, this.options.jsonOptions);
    return writeEnvelope(call, JSON.stringify(end), connect.endStreamFlag);
  }
}

function respond(call: Call, body: Body, size: number, error: ConnectError | undefined): Response {
  const status = error === undefined ? 200 : connect.codeToHttpStatus(error.code);
  const header = { ...headerWithTrailer(call), "content-length": size };
  return { status, header, body, error };
}

function versionErrorOf(exchange: Exchange, options: Endpoint["options"]) {
  if (!options.requireConnectProtocolHeader) return undefined;
  const version = headerOf(exchange, "connect-protocol-version");
  return versionError("header", connect.headerProtocolVersion, connect.protocolVersion, version);
}

function versionError(kind: string, name: string, wanted: string, version: string | null) {
  if (version === wanted) return undefined;
  const missing = `missing required ${kind}: set ${name} to "${wanted}"`;
  const other = `${name} must be "${wanted}": got "${version?.slice(0, 100)}"`;
  return new ConnectError(version === null ? missing : other, Code.InvalidArgument);
}

function messageOf({ search, searchParams: query }: URL): Uint8Array {
  if (query.get("base64") !== "1") return rawMessage(search.slice(1));
  try {
    return base64Decode(query.get("message") ?? "");
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
