/** Unary calls of gRPC-Web: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md */
import { compressedFlag } from "@connectrpc/connect/protocol";
import {
  contentTypeJson,
  contentTypeProto,
  parseContentType,
  trailerFlag,
  trailerSerialize,
} from "@connectrpc/connect/protocol-grpc-web";
import type { Response } from "../http/exchange.ts";
import type { Codec } from "./codec.ts";
import { wrapEnvelope } from "./envelope-splitter.ts";
import { createGrpcHandler, type GrpcOutcome, okTrailer } from "./grpc.ts";
import type { UnaryEndpoint, UnaryHandler, UnaryProtocol } from "./unary.ts";
import { TextExchange } from "./text-exchange.ts";

export function createGrpcWeb(endpoint: UnaryEndpoint): UnaryProtocol {
  const { codecs } = endpoint;
  const binary = createHandler(endpoint, codecs.binary, contentTypeProto);
  const json = createHandler(endpoint, codecs.json, contentTypeJson);
  const textBinary = asText(
    createHandler(endpoint, codecs.binary, contentTypeText(contentTypeProto)),
  );
  const textJson = asText(createHandler(endpoint, codecs.json, contentTypeText(contentTypeJson)));
  return {
    name: "grpc-web",
    methods: ["POST"],
    handlerFor(contentType) {
      const type = parseContentType(contentType);
      if (type?.text) return type.binary ? textBinary : textJson;
      return type && (type.binary ? binary : json);
    },
  };
}

function createHandler(endpoint: UnaryEndpoint, codec: Codec, contentType: string): UnaryHandler {
  const variant = { protocolName: "grpc-web", contentType, codec, endFlag: trailerFlag };
  return createGrpcHandler(endpoint, variant, (outcome) => {
    const trailer = trailerEnvelope(outcome, endpoint.options.compressMinBytes);
    return trailer instanceof Promise
      ? trailer.then((written) => responseWith(written, outcome))
      : responseWith(trailer, outcome);
  });
}

function responseWith(trailer: Uint8Array, { context, message, code }: GrpcOutcome): Response {
  const body = message ? Buffer.concat([message, trailer]) : trailer;
  const own = context.responseHeader.toNode();
  // Node accepts a `Trailer` field only with chunked encoding, which it uses if the length is
  // missing.
  const header = "trailer" in own ? own : { ...own, "content-length": body.length };
  return { status: 200, header, body, code };
}

/** The last envelope of the body: the trailers as header lines. */
function trailerEnvelope(
  { context, compression }: GrpcOutcome,
  compressMinBytes: number,
): Uint8Array | Promise<Uint8Array> {
  const { responseTrailer } = context;
  const isOk = responseTrailer.toNode() === okTrailer;
  if (isOk && compression === null) return okEnvelope;
  const lines = isOk ? okLines : trailerSerialize(responseTrailer);
  if (compression === null || lines.byteLength < compressMinBytes) {
    return wrapEnvelope(trailerFlag, lines);
  }
  return compression
    .compress(lines)
    .then((bytes) => wrapEnvelope(trailerFlag | compressedFlag, bytes));
}

const okLines = Buffer.from(`grpc-status: ${okTrailer["grpc-status"]}\r\n`);
const okEnvelope = wrapEnvelope(trailerFlag, okLines);

function contentTypeText(contentType: string): string {
  return contentType.replace("grpc-web", "grpc-web-text");
}

function asText(handler: UnaryHandler): UnaryHandler {
  return (exchange, contextValues) => handler(new TextExchange(exchange), contextValues);
}
