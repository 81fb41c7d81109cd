/** Which protocol a request of RPC speaks. */
import { Code, ConnectError } from "@connectrpc/connect";
import { headerOf, type Response } from "../http/exchange.ts";
import { createConnectUnary } from "./connect.ts";
import { createConnectStreams } from "./connect-stream.ts";
import type { Endpoint } from "./endpoint.ts";
import { createGrpc, createGrpcWeb } from "./grpc.ts";
import { emptyResponse, type ServeRpc, unsupportedMediaType } from "./protocol.ts";

/**
 * Clients coded for a connection that works both ways may hang on HTTP/1.1. Closing it ends that.
 */
function versionNotSupported(): Response {
  const error = new ConnectError("a bidirectional stream needs HTTP/2", Code.Unimplemented);
  return emptyResponse(505, error, { connection: "close" });
}

/**
 * Serves a method with the protocol of the request's media type. The caller has already checked
 * that the method supports the HTTP method.
 */
export function createRpcHandler(endpoint: Endpoint): ServeRpc {
  const { kind } = endpoint.spec;
  const createConnect = kind === "unary" ? createConnectUnary : createConnectStreams;
  const all = [createGrpc(endpoint), createGrpcWeb(endpoint), createConnect(endpoint)];
  const protocols = all.filter(({ name }) => endpoint.rpc.protocolNames.includes(name));

  function find(contentType: string, method: string): ServeRpc | undefined {
    for (const protocol of protocols) {
      if (!protocol.methods.includes(method)) continue;
      const handler = protocol.handlerFor(contentType, method);
      if (handler !== undefined) return handler;
    }
    return undefined;
  }

  return (exchange, contextValues) => {
    if (kind === "bidi_streaming" && !exchange.isDuplex) {
      exchange.respond(versionNotSupported());
      return undefined;
    }
    const handler = find(headerOf(exchange, "content-type") ?? "", exchange.method);
    if (handler !== undefined) return handler(exchange, contextValues);
    exchange.respond(unsupportedMediaType());
    return undefined;
  };
}
