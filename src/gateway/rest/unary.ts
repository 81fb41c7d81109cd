/** Unary calls by REST. */
import type { ContextValues } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { serveUnary, type UnarySpec } from "../call.ts";
import { CallContext } from "../call-context.ts";
import { type Exchange, headerOf } from "../exchange.ts";
import { type BodyLimit, readBody } from "../read-body.ts";
import { noTrailer } from "../trailer-header.ts";
import type { Parse } from "./body.ts";
import { readMessage } from "./request.ts";
import { errorResponse, messageResponse } from "./response.ts";
import type { Route, Target } from "./route.ts";

/** Serves one call: answers the exchange. */
export type RestUnaryHandler = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
  target: Target,
) => Promise<void>;

const noHeader = {};

export function createUnaryHandler(route: Route, spec: UnarySpec): RestUnaryHandler {
  const { options, settings } = route;
  const endpoint = { spec, options };

  return (exchange, contextValues, target) => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), options.maxTimeoutMs);
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "rest",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal: options.shutdownSignal,
      contextValues,
      responseHeader: noHeader,
      responseTrailer: noTrailer,
    });
    const request = {
      header: context.requestHeader,
      read: <T>(limit: BodyLimit, parse: Parse<T>) => readBody(exchange, limit, parse),
    };
    return serveUnary(endpoint, exchange, context, {
      read() {
        // As in connect-es: behind the gate, and before the body.
        if (timeout.error !== undefined) throw timeout.error;
        return readMessage(route, request, target);
      },
      write: (message) => messageResponse(route, message, context),
      fail: (error) => errorResponse(error, settings, context),
    });
  };
}
