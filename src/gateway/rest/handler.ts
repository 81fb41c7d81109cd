import { type ConnectError, createHandlerContext } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { parseTimeout, trailerMux } from "@connectrpc/connect/protocol-connect";
import { type CallContext, callStream, callUnary } from "../call.ts";
import type { Endpoint } from "../endpoint.ts";
import { type RestOptions, resolveRestOptions } from "./options.ts";
import { printPathTemplate } from "./path-template.ts";
import { readMessage, readMessages } from "./request.ts";
import {
  errorResponse,
  messageResponse,
  type ResponseWithBody,
  streamResponse,
} from "./response.ts";
import type { Route, Target } from "./route.ts";
import { RouteTable } from "./route-table.ts";
import { bindingsOf, RuleError } from "./rule.ts";

/** Serves one request to a bound method and path. */
export type RestHandler = (
  request: UniversalServerRequest,
  target: Target,
) => Promise<UniversalServerResponse>;

/**
 * The REST half of the gateway: a handler for every `google.api.http` binding
 * of the endpoints.
 *
 * @throws {RuleError}
 */
export function createRestRoutes(
  endpoints: readonly Endpoint[],
  restOptions: RestOptions,
): RouteTable<RestHandler> {
  const settings = resolveRestOptions(restOptions);
  const routes = new RouteTable<RestHandler>();
  const rpcPaths = new Set(endpoints.map(({ rpc }) => rpc.requestPath));
  for (const { spec, options } of endpoints) {
    for (const binding of bindingsOf(spec.method, settings.rules)) {
      if (spec.kind === "bidi_streaming") continue; // bindingsOf has refused it
      const route: Route = { spec, options, binding, settings };
      const { method, template } = binding;
      const path = printPathTemplate(template);
      const handler: RestHandler = (request, target) => serve(route, request, target);
      if (rpcPaths.has(path) || !routes.add(method, template, handler)) {
        throw new RuleError(spec.method, `${method} ${path} is bound already`);
      }
    }
  }
  return routes;
}

async function serve(
  route: Route,
  request: UniversalServerRequest,
  target: Target,
): Promise<UniversalServerResponse> {
  const { maxTimeoutMs } = route.options;
  const deadline = parseTimeout(request.header.get("connect-timeout-ms"), maxTimeoutMs);
  const context = createContext(route, request, deadline.timeoutMs);
  try {
    const response = await call(route, request, target, { context, refusal: deadline.error });
    const body = finishing(response.body, context);
    // Who waits for a client to read waits for ever when it has gone.
    context.signal.addEventListener("abort", () => void body.return(undefined).catch(() => {}));
    return { ...response, body };
  } catch (error) {
    context.abort(error);
    const header = trailerMux(context.responseHeader, context.responseTrailer);
    return errorResponse(error, route.settings, header);
  }
}

function createContext(
  { spec, options }: Route,
  request: UniversalServerRequest,
  timeoutMs: number | undefined,
): CallContext {
  return createHandlerContext({
    ...(timeoutMs !== undefined && { timeoutMs }),
    service: spec.method.parent,
    method: spec.method,
    protocolName: "rest",
    requestMethod: request.method,
    url: request.url,
    requestHeader: request.header,
    requestSignal: request.signal,
    ...(options.shutdownSignal && { shutdownSignal: options.shutdownSignal }),
    ...(request.contextValues && { contextValues: request.contextValues }),
  });
}

async function call(
  route: Route,
  request: UniversalServerRequest,
  target: Target,
  { context, refusal }: { context: CallContext; refusal: ConnectError | undefined },
): Promise<ResponseWithBody> {
  const { spec, options } = route;
  // As in connect-es: behind the gate, and before the body.
  const read = async () => {
    if (refusal !== undefined) throw refusal;
    return await readMessage(route, request, target);
  };
  switch (spec.kind) {
    case "unary": {
      const message = await callUnary(spec, options, context, read);
      return await messageResponse(route, message, context);
    }
    case "client_streaming": {
      const messages = refusal === undefined ? readMessages(route, request, target) : once(read);
      const answers = await callStream(spec, options, context, messages);
      return await messageResponse(route, await single(answers), context);
    }
    case "server_streaming": {
      const answers = await callStream(spec, options, context, once(read));
      return await streamResponse(route, answers, context);
    }
  }
}

async function single<T>(values: AsyncIterable<T>): Promise<T> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  const [value] = all;
  if (value === undefined || all.length > 1) throw new Error("not one answer");
  return value;
}

async function* once<T>(read: () => Promise<T>): AsyncGenerator<T> {
  yield await read();
}

/** The body again; when it ends, or nobody takes the rest, so does the call. */
async function* finishing(body: AsyncIterable<Uint8Array>, context: CallContext) {
  try {
    yield* body;
  } finally {
    context.abort();
  }
}
