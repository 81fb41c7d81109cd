/** Unary calls over REST. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { serveUnary, type UnarySpec, type UnaryWire } from "../rpc/call.ts";
import { CallContext } from "../rpc/context.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { type BodyLimit, readBody } from "../http/read-body.ts";
import { noTrailer } from "../rpc/trailer-header.ts";
import type { Parse, WholeRequest } from "./request/body.ts";
import { readMessage } from "./request/request.ts";
import { errorResponse, messageResponse } from "./response/response.ts";
import type { Route, Target } from "./routing/route.ts";

type Message = MessageShape<DescMessage>;

/** Serves one call and answers the exchange. */
export type RestUnaryHandler = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
  target: Target,
) => Promise<void>;

const noHeader = {};

export function createUnaryHandler(route: Route, spec: UnarySpec): RestUnaryHandler {
  const { options } = route;
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
    const call = new RestCall({ route, exchange, context, target, refusal: timeout.error });
    return serveUnary(endpoint, exchange, context, call);
  };
}

interface RestCallParts {
  readonly route: Route;
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly target: Target;
  /** Why to reject the call after the gate has admitted it. */
  readonly refusal: ConnectError | undefined;
}

class RestCall implements UnaryWire, WholeRequest {
  readonly #parts: RestCallParts;

  constructor(parts: RestCallParts) {
    this.#parts = parts;
  }

  get header() {
    return this.#parts.context.requestHeader;
  }

  read(): Promise<Message> {
    const { route, target, refusal } = this.#parts;
    if (refusal !== undefined) throw refusal;
    return readMessage(route, this, target);
  }

  readBody<T>(limit: BodyLimit, parse: Parse<T>): Promise<T> {
    return readBody(this.#parts.exchange, limit, parse);
  }

  write(message: Message): Response | Promise<Response> {
    const { route, context } = this.#parts;
    return messageResponse(route, message, context);
  }

  fail(error: unknown): Response {
    const { route, context } = this.#parts;
    return errorResponse(error, route.settings, context);
  }
}
