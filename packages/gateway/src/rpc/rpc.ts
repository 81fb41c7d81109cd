import { headerOf } from "../http/exchange.ts";
import { createConnect } from "./connect.ts";
import { createGrpc } from "./grpc-handler.ts";
import { createGrpcWeb } from "./grpc-web.ts";
import { type UnaryEndpoint, type UnaryHandler, unsupportedMediaType } from "./unary.ts";

/** The clients of a service use few media types, so the handler for each is cached. */
interface KeptHandler {
  readonly contentType: string;
  readonly method: string;
  readonly handler: UnaryHandler;
}

const keptMax = 16;

/**
 * Serves a unary method with the protocol of the request's media type. The caller has already
 * checked that the method supports the HTTP method.
 */
export function createRpcHandler(endpoint: UnaryEndpoint): UnaryHandler {
  const { protocolNames } = endpoint.rpc;
  const protocols = [createGrpc(endpoint), createGrpcWeb(endpoint), createConnect(endpoint)].filter(
    ({ name }) => protocolNames.includes(name),
  );
  const kept: KeptHandler[] = [];

  function find(contentType: string, method: string): UnaryHandler | undefined {
    for (const protocol of protocols) {
      if (!protocol.methods.includes(method)) continue;
      const handler = protocol.handlerFor(contentType, method);
      if (handler !== undefined) return handler;
    }
    return undefined;
  }

  function handlerFor(contentType: string, method: string): UnaryHandler | undefined {
    // The strings are new with each request: hashing one costs more than comparing it with a few.
    for (const known of kept) {
      if (known.contentType === contentType && known.method === method) return known.handler;
    }
    const handler = find(contentType, method);
    if (handler !== undefined && kept.length < keptMax) kept.push({ contentType, method, handler });
    return handler;
  }

  return (exchange, contextValues) => {
    const handler = handlerFor(headerOf(exchange, "content-type") ?? "", exchange.method);
    if (handler !== undefined) return handler(exchange, contextValues);
    exchange.respond(unsupportedMediaType);
    return undefined;
  };
}
