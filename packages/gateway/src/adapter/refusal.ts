import type { ConnectError } from "@connectrpc/connect";
import { exchangeFor, type NodeHandler } from "../http/node.ts";
import { renderStatus } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";
import { trailersOnly } from "../rpc/grpc.ts";
import { protocolOf } from "./observer.ts";

/** A handler that answers each request with an error: by its status to gRPC, else by that of HTTP. */
export function refuseAll(error: ConnectError): NodeHandler {
  return (request, response) => {
    const exchange = exchangeFor(request, response);
    const isGrpc = protocolOf(request.headers, false).startsWith("grpc");
    exchange.respond(
      isGrpc
        ? trailersOnly(exchange, error.code, error.rawMessage)
        : errorResponse(error, { renderError: renderStatus }),
    );
  };
}
