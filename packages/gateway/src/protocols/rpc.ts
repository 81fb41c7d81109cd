import { headerOf } from "../exchange/exchange.ts";
import { createConnect } from "./connect/handler.ts";
import { createGrpc } from "./grpc/handler.ts";
import { createGrpcWeb } from "./grpc-web/handler.ts";
import { type UnaryEndpoint, type UnaryHandler, unsupportedMediaType } from "./unary.ts";

/** Clients of a service name few media types; what was chosen for one is kept. */
interface KeptHandler {
  readonly contentType: string;
  readonly method: string;
  readonly handler: UnaryHandler;
}

const keptMax = 16;

/**
 * Serves a unary method by the protocol that the media type of a request names.
 * That the method has the HTTP method is known by then.
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
    // Strings that are new with each request: to hash one costs more than to compare it with a few.
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
