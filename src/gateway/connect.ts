/** The Connect protocol, for unary calls: https://connectrpc.com/docs/protocol */
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
import { type Body, byteLengthOf, bytesOf } from "./body.ts";
import { serveUnary } from "./call.ts";
import { CallContext } from "./call-context.ts";
import type { Codec } from "./codec.ts";
import { parseConnectQuery } from "./connect-query.ts";
import { type Exchange, headerOf, type Response } from "./exchange.ts";
import { createNegotiator } from "./negotiation.ts";
import { connectErrorFrom } from "./outcome.ts";
import { readBody } from "./read-body.ts";
import { resolveUrl } from "./request-target.ts";
import { headerWithTrailer, noTrailer } from "./trailer-header.ts";
import {
  type UnaryEndpoint,
  type UnaryHandler,
  type UnaryProtocol,
  unsupportedMediaType,
} from "./unary.ts";

/** How the request says what it says: in headers and body, or in the query. */
interface ConnectRequest {
  readonly codec: Codec;
  readonly compression: string | null;
  /** Checks the version of the protocol. @throws {ConnectError} INVALID_ARGUMENT. */
  readonly assertVersion: () => void;
  /** Reads the bytes of the message, compressed or not, and what `parse` makes of them. */
  readonly read: <T>(parse: Parse<T>, bytesMax: number) => T | Promise<T>;
}

type Parse<T> = (bytes: Uint8Array) => T | Promise<T>;

export function createConnect(endpoint: UnaryEndpoint): UnaryProtocol {
  const { spec, codecs } = endpoint;
  const hasGet = spec.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const call = createCall(endpoint);
  const post = (codec: Codec): UnaryHandler => {
    return (exchange, contextValues) => call(exchange, contextValues, postRequest(exchange, codec));
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

function postRequest(exchange: Exchange, codec: Codec): ConnectRequest {
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
    read: (parse, bytesMax) =>
      readBody(exchange, { bytesMax, tooLarge: (size) => tooLarge(size, bytesMax) }, parse),
  };
}

/** @returns undefined for an encoding that there is not. */
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
  const { readMaxBytes, maxTimeoutMs, shutdownSignal, compressMinBytes } = options;
  const negotiate = createNegotiator(options.acceptCompression, headerUnaryAcceptEncoding);
  const binaryHeader = { "content-type": contentTypeUnaryProto };
  const jsonHeader = { "content-type": contentTypeUnaryJson };

  return (
    exchange: Exchange,
    contextValues: ContextValues | undefined,
    { codec, compression: requested, assertVersion, read }: ConnectRequest,
  ): Promise<void> => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), maxTimeoutMs);
    const compression = negotiate(requested, headerOf(exchange, "accept-encoding"));
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "connect",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal,
      contextValues,
      responseHeader: codec === codecs.binary ? binaryHeader : jsonHeader,
      responseTrailer: noTrailer,
    });
    const { request: decompress, response: compress } = compression;
    const parse = (bytes: Uint8Array) =>
      decompress === null
        ? codec.parse(bytes)
        : decompress.decompress(bytes, readMaxBytes).then(codec.parse);
    const respond = (body: Body, code?: Code): Response => ({
      status: code === undefined ? 200 : codeToHttpStatus(code),
      header: { ...headerWithTrailer(context), "content-length": byteLengthOf(body) },
      body,
      code,
    });
    const answer = (body: Body, code?: Code): Response | Promise<Response> => {
      if (compress === null || byteLengthOf(body) < compressMinBytes) return respond(body, code);
      return compress.compress(bytesOf(body)).then((compressed) => {
        context.responseHeader.set("content-encoding", compress.name);
        return respond(compressed, code);
      });
    };
    return serveUnary(endpoint, exchange, context, {
      read() {
        if (options.requireConnectProtocolHeader) assertVersion();
        const refusal = compression.error ?? timeout.error;
        if (refusal !== undefined) throw refusal;
        return read(parse, readMaxBytes);
      },
      write: (message) => answer(codec.serialize(message)),
      fail(reason) {
        const error = connectErrorFrom(reason);
        context.responseHeader.set("content-type", contentTypeUnaryJson);
        // What another service answered has headers of its own, which are not ours to pass on.
        if (!error.isWireError) mergeNonProtocolHeaders(context.responseHeader, error.metadata);
        return answer(errorToJsonBytes(error, options.jsonOptions), error.code);
      },
    });
  };
}
