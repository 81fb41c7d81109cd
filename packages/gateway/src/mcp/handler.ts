/** Serves the endpoint: each POST is one message, and nothing is remembered of it. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ContextValues } from "@connectrpc/connect";
import { isJsonObject } from "../codec/json-value.ts";
import { readBody as readWhole } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { type RestError, RestFailure, renderStatus } from "../rest/error.ts";
import { assertMediaType, readBody, readLimits, type WholeRequest } from "../rest/request/body.ts";
import { errorResponse } from "../rest/response/response.ts";
import { serveCall } from "../rpc/call.ts";
import type { CallContext } from "../rpc/context.ts";
import { Admission } from "./admission.ts";
import { withMetadata } from "./authorization.ts";
import { untilFull } from "./collect.ts";
import {
  envelope,
  jsonResponse,
  ProtocolError,
  parseMessage,
  type RpcMessage,
  type RpcRequest,
  stringOrInteger,
} from "./json-rpc.ts";
import type { McpSettings } from "./options.ts";
import type { Tool } from "./tool.ts";
import { type Era, eraOf, nameHeader, negotiated, versions } from "./version.ts";
import { ToolWire } from "./wire.ts";

const toolsPerPage = 200;

/** How long clients may keep what they are told, and that it is for those who may call. */
const cacheHints = { ttlMs: 60_000, cacheScope: "private" };

const accepted: Response = { status: 202, header: { "content-length": 0 }, body: "" };

export class McpHandler {
  readonly #settings: McpSettings;
  readonly #tools: ReadonlyMap<string, Tool>;
  /** In the order of the list. */
  readonly #names: readonly string[];
  readonly #first: Tool;
  /** The origins whose pages may call; `*` for any. */
  readonly #origins: readonly string[];
  /** What clients are told of the server. */
  readonly #server: { readonly name: string; readonly version: string };
  /** What requests call, once their bodies are known. */
  readonly #called = new WeakMap<Exchange, DescMethod>();

  /** @throws {TypeError} without a tool. */
  constructor(settings: McpSettings, tools: ReadonlyMap<string, Tool>, origins: readonly string[]) {
    const [first] = tools.values();
    if (first === undefined) throw new TypeError("mcp.tools: no method is named");
    this.#settings = settings;
    this.#tools = tools;
    this.#names = [...tools.keys()];
    this.#first = first;
    this.#origins = origins;
    const services = new Set([...tools.values()].map(({ spec }) => spec.method.parent.typeName));
    this.#server = settings.server ?? { name: [...services].join(", "), version: "0.0.0" };
  }

  /** The method that a request calls, as far as it is known. */
  methodOf(exchange: Exchange): DescMethod | undefined {
    return this.#called.get(exchange) ?? this.#named(exchange)?.spec.method;
  }

  async serve(exchange: Exchange, values: ContextValues | undefined): Promise<void> {
    const named = this.#named(exchange);
    const admission = new Admission(exchange, values, named ?? this.#first, named !== undefined);
    let message: RpcMessage | undefined;
    try {
      this.#assertOrigin(exchange);
      await admission.pass();
      message = await read(admission);
      const { id, method } = message;
      const era = eraOf(exchange, message);
      if (id === undefined) exchange.respond(accepted);
      else if (method === "tools/call") await this.#call({ ...message, id }, era, admission);
      else exchange.respond(this.#answer({ ...message, id }, era));
      admission.context.release();
    } catch (error) {
      const isOurs = error instanceof ProtocolError;
      const { context } = admission;
      const refuse = () => this.#refusal(admission.fail(error), message?.id, context);
      exchange.respond(isOurs ? error.toResponse(message?.id) : refuse());
    }
  }

  #named(exchange: Exchange): Tool | undefined {
    return this.#tools.get(nameHeader(exchange) ?? "");
  }

  /** The Host of a page that DNS rebinding has brought here is that of its Origin, too. */
  #assertOrigin(exchange: Exchange): void {
    const origin = headerOf(exchange, "origin");
    if (origin === null || this.#origins.includes(origin) || this.#origins.includes("*")) return;
    if (origin === exchange.origin && loopback.test(origin)) return;
    throw new RestFailure(403, Code.PermissionDenied, "pages of this Origin must not call");
  }

  async #call({ id, params }: RpcRequest, era: Era, admission: Admission): Promise<void> {
    const { name, arguments: args = {}, _meta: meta } = params;
    const tool = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (tool === undefined) throw invalidParams(`Unknown tool: ${String(name).slice(0, 100)}`);
    if (!isJsonObject(args)) throw invalidParams("arguments must be an object");
    const { exchange } = admission;
    const { context, options } = admission.of(tool);
    this.#called.set(exchange, tool.spec.method);
    const wire = new ToolWire({
      ...{ tool, context, id, args, signature: this.#signature(era) },
      progressToken: isJsonObject(meta) ? stringOrInteger(meta["progressToken"]) : undefined,
      refuse: (error) => this.#refusal(error, id, context),
    });
    const spec = this.#cut(tool.spec, wire);
    await serveCall({ spec, options }, { exchange, context, wire });
  }

  /** The method, whose stream ends when the result is full. */
  #cut(spec: Tool["spec"], wire: ToolWire): Tool["spec"] {
    if (spec.kind === "unary") return spec;
    const impl: typeof spec.impl = (message, context) =>
      untilFull(spec.impl(message, context), wire, this.#settings.stream, context);
    return { ...spec, impl };
  }

  #answer({ id, method, params }: RpcRequest, era: Era): Response {
    const { instructions } = this.#settings;
    const abilities = { capabilities: { tools: {} }, instructions };
    switch (`${era} ${method}`) {
      case "modern server/discover":
        return this.#result(id, era, { supportedVersions: versions, ...abilities, ...cacheHints });
      case "legacy initialize": {
        const protocolVersion = negotiated(params["protocolVersion"]);
        return this.#result(id, era, { protocolVersion, serverInfo: this.#server, ...abilities });
      }
      case "legacy ping":
        return this.#result(id, era, {});
      case "modern tools/list":
      case "legacy tools/list":
        return this.#list(id, era, params["cursor"]);
    }
    // To older clients, a 404 means that a session has ended.
    const status = era === "modern" ? 404 : 200;
    const message = `Method not found: ${method.slice(0, 100)}`;
    throw new ProtocolError(status, "methodNotFound", message);
  }

  /** @param cursor The name of the first tool of the page. */
  #list(id: string, era: Era, cursor: unknown): Response {
    const start = cursor === undefined ? 0 : this.#names.indexOf(String(cursor));
    if (start < 0) throw invalidParams("the cursor is unknown");
    const end = start + toolsPerPage;
    const page = this.#names.slice(start, end).map((name) => this.#tools.get(name)?.description());
    const members = { nextCursor: this.#names[end], ...cacheHints };
    return this.#result(id, era, members, `"tools":[${page.join(",")}],`);
  }

  /** @param first Members as JSON text, with a comma behind. */
  #result(id: string, era: Era, members: object, first = ""): Response {
    const all = JSON.stringify({ ...members, ...this.#signature(era) });
    return jsonResponse(`{"jsonrpc":"2.0","id":${id},"result":{${first}${all.slice(1)}}`);
  }

  /** The members of every result. Older clients know none. */
  #signature(era: Era): object {
    if (era === "legacy") return {};
    const _meta = { "io.modelcontextprotocol/serverInfo": this.#server };
    return { resultType: "complete", _meta };
  }

  /** The response for what is no result: the status of HTTP says what to do about it. */
  #refusal(error: unknown, id: string | undefined, context: CallContext): Response {
    const renderError = (rest: RestError) => {
      const { status, body } = renderStatus(rest);
      const { code, message, details } = body;
      return { status, body: envelope(id, { error: { code, message, data: { details } } }) };
    };
    const response = errorResponse(error, { renderError }, context);
    const { authorization } = this.#settings;
    const hasMetadata = response.status === 401 && authorization !== undefined;
    return hasMetadata ? withMetadata(response, authorization) : response;
  }
}

function read({ exchange, tool, context }: Admission): RpcMessage | Promise<RpcMessage> {
  const { options } = tool.endpoint;
  const request: WholeRequest = {
    header: context.requestHeader,
    get holding() {
      return exchange.holding;
    },
    readBody: (limit, parse) => readWhole(exchange, limit, parse),
  };
  assertMediaType(request, ["application/json"]);
  const parse = (bytes: Uint8Array) => parseMessage(bytes, options.readMaxValues);
  return context.inTime(readBody(request, readLimits(options), parse));
}

const loopback = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(200, "invalidParams", message);
}
