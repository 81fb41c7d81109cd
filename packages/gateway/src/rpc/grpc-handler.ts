/** Unary calls of gRPC: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
import {
  contentTypeJson,
  contentTypeProto,
  parseContentType,
} from "@connectrpc/connect/protocol-grpc";
import type { NodeHeaders } from "../http/headers.ts";
import type { Codec } from "./codec.ts";
import type { UnaryEndpoint, UnaryHandler, UnaryProtocol } from "./unary.ts";
import { createGrpcHandler } from "./grpc.ts";

export function createGrpc(endpoint: UnaryEndpoint): UnaryProtocol {
  const { codecs } = endpoint;
  const binary = createHandler(endpoint, codecs.binary, contentTypeProto);
  const json = createHandler(endpoint, codecs.json, contentTypeJson);
  return {
    name: "grpc",
    methods: ["POST"],
    handlerFor(contentType) {
      const type = parseContentType(contentType);
      return type && (type.binary ? binary : json);
    },
  };
}

const nothing = new Uint8Array(0);

function createHandler(endpoint: UnaryEndpoint, codec: Codec, contentType: string): UnaryHandler {
  const variant = { protocolName: "grpc", contentType, codec, endFlag: 0 };
  return createGrpcHandler(endpoint, variant, ({ context, message, code }) => ({
    status: 200,
    header: withoutLength(context.responseHeader.toNode()),
    body: message ?? nothing,
    trailer: withoutLength(context.responseTrailer.toNode()),
    code,
  }));
}

/**
 * A Content-Length set by the application is not that of the envelope, and would break the answer.
 */
function withoutLength(fields: NodeHeaders): NodeHeaders {
  if (!("content-length" in fields)) return fields;
  const { "content-length": _length, ...rest } = fields;
  return rest;
}
