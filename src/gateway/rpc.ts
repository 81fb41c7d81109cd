import { createConnect } from "./connect.ts";
import { headerOf } from "./exchange.ts";
import { createGrpc } from "./grpc.ts";
import { createGrpcWeb } from "./grpc-web.ts";
import { type UnaryEndpoint, type UnaryHandler, unsupportedMediaType } from "./unary.ts";

/** Clients of a service name few media types; what was chosen for one is kept. */
const keptMax = 64;

/**
 * Serves a unary method by the protocol that the media type of a request names.
 * That the method has the HTTP method is known by then.
 */
export function createRpcHandler(endpoint: UnaryEndpoint): UnaryHandler {
  const { protocolNames } = endpoint.rpc;
  const protocols = [createGrpc(endpoint), createGrpcWeb(endpoint), createConnect(endpoint)].filter(
    ({ name }) => protocolNames.includes(name),
  );
  const kept = new Map<string, UnaryHandler>();

  function find(contentType: string, method: string): UnaryHandler | undefined {
    for (const protocol of protocols) {
      if (!protocol.methods.includes(method)) continue;
      const handler = protocol.handlerFor(contentType, method);
      if (handler !== undefined) return handler;
    }
    return undefined;
  }

  function handlerFor(contentType: string, method: string): UnaryHandler | undefined {
    const key = `${method} ${contentType}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const found = find(contentType, method);
    if (found !== undefined && kept.size < keptMax) kept.set(key, found);
    return found;
  }

  return (exchange, contextValues) => {
    const handler = handlerFor(headerOf(exchange, "content-type") ?? "", exchange.method);
    if (handler !== undefined) return handler(exchange, contextValues);
    exchange.respond(unsupportedMediaType);
    return undefined;
  };
}
