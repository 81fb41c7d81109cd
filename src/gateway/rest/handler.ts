import { type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { createHandlerContext } from "@connectrpc/connect";
import {
  createAsyncIterable,
  mergeNonProtocolHeaders,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { callUnary, type UnarySpec } from "../call.ts";
import type { Endpoint } from "../endpoint.ts";
import { messageFromJson, parseJson } from "../json.ts";
import { badRequest, FieldViolation } from "../violation.ts";
import { readJsonBody } from "./body.ts";
import { type RenderedError, type RestError, renderStatus, restErrorFrom } from "./error.ts";
import { RouteTable } from "./route-table.ts";
import { type Binding, bindingsOf, RuleError } from "./rule.ts";

export interface RestOptions {
  /** Renders an error for a client. Default: `google.rpc.Status` in JSON. */
  readonly renderError?: (error: RestError) => RenderedError;
}

/** Serves one request to a bound method and path. The query is raw. */
export type RestHandler = (
  request: UniversalServerRequest,
  query: string,
) => Promise<UniversalServerResponse>;

/**
 * The REST half of the gateway: a handler for every `google.api.http` binding
 * of the endpoints.
 *
 * @param prefix Stands before every bound path.
 * @throws {RuleError}
 */
export function createRestRoutes(
  endpoints: readonly Endpoint[],
  prefix: string,
  options: RestOptions,
): RouteTable<RestHandler> {
  const render = options.renderError ?? renderStatus;
  const routes = new RouteTable<RestHandler>();
  for (const { spec, options: endpointOptions } of endpoints) {
    for (const binding of bindingsOf(spec.method)) {
      if (spec.kind !== "unary") continue; // bindingsOf has refused it
      const route = { spec, options: endpointOptions, binding };
      const handler: RestHandler = (request, query) => serve(route, request, query, render);
      if (!routes.add(binding.method, prefix + binding.path, handler)) {
        throw new RuleError(spec.method, `${binding.method} ${binding.path} is bound already`);
      }
    }
  }
  return routes;
}

/** The response for an error, for those who find it before a route is known. */
export function errorResponse(
  reason: unknown,
  render: (error: RestError) => RenderedError,
  header = new Headers(),
): UniversalServerResponse {
  const restError = restErrorFrom(reason);
  const { status, body } = render(restError);
  mergeNonProtocolHeaders(header, restError.error.metadata);
  return jsonResponse(status, header, body);
}

interface Route {
  readonly spec: UnarySpec;
  readonly options: Endpoint["options"];
  readonly binding: Binding;
}

async function serve(
  { spec, options, binding }: Route,
  request: UniversalServerRequest,
  query: string,
  render: (error: RestError) => RenderedError,
): Promise<UniversalServerResponse> {
  const context = createHandlerContext({
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
  try {
    const read = () => readRequest({ spec, options, binding }, request, query);
    const message = await callUnary(spec, options, context, read);
    const json = responseJson(spec, binding, message);
    return jsonResponse(200, context.responseHeader, json);
  } catch (error) {
    return errorResponse(error, render, context.responseHeader);
  }
}

async function readRequest(
  { spec, options, binding }: Route,
  request: UniversalServerRequest,
  query: string,
): Promise<MessageShape<UnarySpec["method"]["input"]>> {
  for (const name of new URLSearchParams(query).keys()) {
    throw badRequest([new FieldViolation(name, "is not a known query parameter")]);
  }
  const { input } = spec.method;
  if (binding.body === undefined) return messageFromJson(input, {}, {});
  const body = parseJson(await readJsonBody(request, options));
  const json = binding.body === "*" ? body : { [binding.body.name]: body };
  return messageFromJson(input, json, {});
}

function responseJson(
  spec: UnarySpec,
  { responseBody }: Binding,
  message: MessageShape<UnarySpec["method"]["output"]>,
): JsonValue {
  const json = toJson(spec.method.output, message) as Record<string, JsonValue>;
  return responseBody === undefined ? json : (json[responseBody.jsonName] ?? {});
}

function jsonResponse(status: number, header: Headers, json: JsonValue): UniversalServerResponse {
  const body = new TextEncoder().encode(JSON.stringify(json));
  header.set("content-type", "application/json");
  header.set("content-length", String(body.byteLength));
  return { status, header, body: createAsyncIterable([body]) };
}
