import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { ContextValues } from "@connectrpc/connect";
import { writeBinary } from "../codec/wire-format.ts";
import { BodyBudget } from "../http/body-budget.ts";
import {
  exchangeFor,
  isAddressed,
  type NodeHandler,
  type NodeRequest,
  type NodeResponse,
} from "../http/request-exchange.ts";
import { StreamExchange } from "../http/stream-exchange.ts";
import { parseRequestTarget } from "../http/target.ts";
import type { AnswerCoding } from "../rest/response/answer-coding.ts";
import { compressionBrotli, compressionGzip } from "../rpc/compression.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import { createCors, isPreflight } from "./cors.ts";
import { type CommonOptions, commonOptionKinds, createGateway, type Runtime } from "./gateway.ts";

/** The options of `connectNodeAdapter`, with the same meaning, and those of the gateway. */
export interface GatewayOptions extends CommonOptions {
  /** Serves what the gateway does not. Default: a 404. */
  readonly fallback?: NodeHandler;
  /** Creates the context values of a call. */
  readonly contextValues?: (request: NodeRequest) => ContextValues;
}

const own = { fallback: "function", contextValues: "function" } as const;
export const gatewayOptionKinds: OptionKindsOf<GatewayOptions> = { ...commonOptionKinds, ...own };

/** A request listener, with a faster way for HTTP/2. */
export interface GatewayHandler {
  /** Resolves when the answer has been handed over. Never rejects. */
  (request: NodeRequest, response: NodeResponse): Promise<void>;
  /**
   * For the event `stream` of a `node:http2` server: serves a call with the core API, at about half
   * the cost of a request listener.
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
 * @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`.
 */
export function gatewayNodeAdapter(options: GatewayOptions): GatewayHandler {
  assertOptions("gatewayNodeAdapter", options, gatewayOptionKinds, ["routes"]);
  return createNodeGateway(options).handler;
}

/** A gateway whose options can change. Its handlers, by exact path, come before the services. */
export function createNodeGateway(
  options: GatewayOptions,
  handlers: ReadonlyMap<string, NodeHandler> = new Map(),
) {
  const { contextValues, fallback: other, cors, bodyBudget = new BodyBudget() } = options;
  const corsHeaderOf = cors && createCors(cors);
  const fallback = other && guardHandler(other);
  const beside = new Map(
    [...handlers].map(([path, handler]) => [path, guardHandler(handler, corsHeaderOf)]),
  );
  let gateway = createGateway(options, node);

  /** If it throws or rejects, its client gets an error. Without `corsHeaderOf`, CORS is left to it. */
  function guardHandler(handler: NodeHandler, corsHeaderOf?: ReturnType<typeof createCors>) {
    return async (request: NodeRequest, response: NodeResponse): Promise<void> => {
      try {
        if (corsHeaderOf !== undefined) {
          const { method = "", url: path = "", headers } = request;
          const asked = { method, path, headers };
          const header = corsHeaderOf(asked);
          for (const name in header) response.setHeader(name, `${header[name]}`);
          if (isPreflight(asked)) {
            response.statusCode = 204;
            response.end();
            return;
          }
        }
        await handler(request, response);
      } catch (error) {
        gateway.onError(error);
        const exchange = exchangeFor(request, response, parseRequestTarget(request.url ?? ""));
        gateway.answerError(error, exchange);
      }
    };
  }

  function serveRequest(request: NodeRequest, response: NodeResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const target = parseRequestTarget(url);
    const handler = beside.get(target.path);
    if (handler !== undefined && isAddressed(request)) return handler(request, response);
    const route = gateway.find(method, target.path, headers["content-type"]);
    if (route === gateway.notFound && fallback !== undefined && isAddressed(request)) {
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

  return {
    handler: Object.assign(serveRequest, { serveStream }) satisfies GatewayHandler,
    responseFor: (error: unknown) => gateway.responseFor(error),
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
/** Node has it since 22.15. */
const zstd = zlib.zstdCompress && promisify(zlib.zstdCompress);
const zstdCoding: AnswerCoding = {
  name: "zstd",
  compress: (bytes) => zstd(bytes, { params: zstdParams }),
};

const node: Runtime = {
  compressions: [compressionGzip, compressionBrotli],
  codings: [
    ...(zstd === undefined ? [] : [zstdCoding]),
    { name: "br", compress: (bytes) => brotli(bytes, { params: brotliParams }) },
    compressionGzip,
  ],
  writeBinary,
};
