import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { ContextValues } from "@connectrpc/connect";
import { compressionBrotli } from "@connectrpc/connect-node";
import { logError } from "../errors/errors.ts";
import { errorResponse, type RenderError, renderStatus } from "../errors/http-error.ts";
import { BodyBudget } from "../http/body-budget.ts";
import type { Response } from "../http/exchange.ts";
import type { NodeHeaders } from "../http/headers.ts";
import {
  exchangeFor,
  type NodeHandler,
  type NodeRequest,
  type NodeResponse,
  urlOf,
} from "../http/request-exchange.ts";
import { StreamExchange } from "../http/stream-exchange.ts";
import { parseRequestTarget } from "../http/target.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { compressionGzip } from "../rpc/gzip.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import { type ApplyCors, createCors, isPreflight } from "./cors.ts";
import { type CommonOptions, commonOptionKinds, createGateway, type Runtime } from "./gateway.ts";

/** The options of `connectNodeAdapter`, with the same meaning, and those of the gateway. */
export interface GatewayOptions extends CommonOptions {
  /** Serves what the gateway does not. Default: a 404. */
  readonly fallback?: NodeHandler;
  /** Creates the context values of a call. */
  readonly contextValues?: (request: NodeRequest) => ContextValues;
}

export const gatewayOptionKinds: OptionKindsOf<GatewayOptions> = {
  ...commonOptionKinds,
  fallback: "function",
  contextValues: "function",
};

/** A request listener, with a faster way for HTTP/2. */
export interface GatewayHandler {
  /** Resolves when the answer has been handed over. Never rejects. */
  (request: NodeRequest, response: NodeResponse): Promise<void>;
  /**
   * For the event `stream` of a `node:http2` server: serves a call with the core API, at about half
   * the cost of a request listener.
   *
   * @param rawHeaders From the event. Needed to reject a repeated `Authorization` or `Content-Type`.
   * @returns false if only the request listener can serve the request. Nothing has been done then.
   */
  serveStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders?: readonly string[],
  ): boolean;
}

/**
 * Serves the methods of Connect services over gRPC, gRPC-Web and Connect, and over REST according to
 * their `google.api.http` options.
 *
 * @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`.
 */
export function gatewayNodeAdapter(options: GatewayOptions): GatewayHandler {
  assertOptions("gatewayNodeAdapter", options, gatewayOptionKinds);
  return createNodeGateway(options).handler;
}

/** A gateway whose options can change. Its handlers, by exact path, come before the services. */
export function createNodeGateway(
  options: GatewayOptions,
  handlers: ReadonlyMap<string, NodeHandler> = new Map(),
) {
  const { contextValues, fallback: other, cors } = options;
  const { onError = logError, bodyBudget = new BodyBudget() } = options;
  const guard = { renderError: options.rest?.renderError, onError };
  const fallback = other && guardHandler(other, guard);
  const besideGuard = { ...guard, applyCors: cors && createCors(cors) };
  const beside = new Map(
    [...handlers].map(([path, handler]) => [path, guardHandler(handler, besideGuard)]),
  );
  let gateway = createGateway(options, node);

  function serveRequest(request: NodeRequest, response: NodeResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const target = parseRequestTarget(url);
    const handler = beside.get(target.path);
    if (handler !== undefined) return handler(request, response);
    const route = gateway.find(method, target.path, headers["content-type"]);
    if (route === gateway.notFound && fallback !== undefined && urlOf(request) !== undefined) {
      return fallback(request, response);
    }
    const exchange = exchangeFor(request, response, target, bodyBudget);
    return gateway.serve(exchange, route, contextValues && (() => contextValues(request)));
  }

  function serveStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[] = [],
  ): boolean {
    const { ":method": method = "", ":path": url = "", expect } = headers;
    if (contextValues !== undefined || expect !== undefined) return false;
    const target = parseRequestTarget(url);
    if (beside.has(target.path)) return false;
    const route = gateway.find(method, target.path, headers["content-type"]);
    if (route === gateway.notFound && fallback !== undefined) return false;
    void gateway.serve(new StreamExchange(stream, headers, rawHeaders, target, bodyBudget), route);
    return true;
  }

  const handler: GatewayHandler = Object.assign(serveRequest, { serveStream });
  return {
    handler,
    /** For new calls. @throws as `gatewayNodeAdapter`. Nothing changes then. */
    update(changed: Partial<GatewayOptions>) {
      gateway = createGateway({ ...options, ...changed }, node);
    },
  };
}

/** As fast as gzip's default level, and as small. Brotli's own default takes forty times as long. */
const brotliParams = { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 };
const zstdParams = { [zlib.constants.ZSTD_c_compressionLevel]: 3 };

const brotli = promisify(zlib.brotliCompress);

/** In order of preference. Node has zstd since 22.15. */
export const nodeCodings: readonly AnswerCoding[] = [
  ...("zstdCompress" in zlib ? [zstdCoding()] : []),
  { name: "br", compress: (bytes) => brotli(bytes, { params: brotliParams }) },
  compressionGzip,
];

function zstdCoding(): AnswerCoding {
  const zstd = promisify(zlib.zstdCompress);
  return { name: "zstd", compress: (bytes) => zstd(bytes, { params: zstdParams }) };
}

const node: Runtime = {
  compressions: [compressionGzip, compressionBrotli],
  codings: nodeCodings,
};

interface BesideOptions {
  readonly renderError: RenderError | undefined;
  readonly onError: (error: unknown) => void;
  /** Applied to requests from other origins. Default: left to the handler. */
  readonly applyCors?: ApplyCors | undefined;
}

/** Guards a handler for other paths: if it throws or rejects, its client gets an error. */
function guardHandler(
  handler: NodeHandler,
  { renderError = renderStatus, onError, applyCors }: BesideOptions,
): (...node: Parameters<NodeHandler>) => Promise<void> {
  return async (request, response) => {
    try {
      if (applyCors !== undefined) {
        const { method = "", url: path = "", headers } = request;
        const addHeader = (header: NodeHeaders) => {
          for (const name in header) response.setHeader(name, `${header[name]}`);
        };
        const respond = ({ status, header }: Response) => {
          addHeader(header);
          response.statusCode = status;
          response.end();
        };
        const exchange = { method, path, headers, addHeader, respond };
        applyCors(exchange);
        if (isPreflight(exchange)) return;
      }
      await handler(request, response);
    } catch (error) {
      onError(error);
      const exchange = exchangeFor(request, response, parseRequestTarget(request.url ?? ""));
      if (exchange.isAnswered) exchange.breakOff();
      else exchange.respond(errorResponse(error, { renderError }));
    }
  };
}
