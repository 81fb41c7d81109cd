/** Serves the endpoint: each POST is one message, and nothing is remembered of it. */
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { Code, type ContextValues } from "@connectrpc/connect";
import { readBody as readWhole } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { isJsonObject } from "../json/value.ts";
import { type RestError, RestFailure, renderStatus } from "../rest/error.ts";
import { assertMediaType, readBody, readLimits, type WholeRequest } from "../rest/request/body.ts";
import { errorResponse } from "../rest/response/response.ts";
import { serveCall } from "../rpc/call.ts";
import type { CallContext } from "../rpc/context.ts";
import { Admission } from "./admission.ts";
import { withMetadata } from "./authorization.ts";
import { untilFull } from "./collect.ts";
import {
  errorCodes,
  errorMessage,
  jsonHeader,
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

export interface McpParts {
  readonly settings: McpSettings;
  readonly tools: ReadonlyMap<string, Tool>;
  /** The origins whose pages may call; `*` for any. */
  readonly origins: readonly string[];
}

const toolsPerPage = 200;

/** How long clients may keep what they are told, and that it is for those who may call. */
const cacheHints = { ttlMs: 60_000, cacheScope: "private" };

const accepted: Response = { status: 202, header: { "content-length": 0 }, body: "" };

export class McpHandler {
  readonly #parts: McpParts;
  readonly #any: Tool;
  readonly #names: readonly string[];
  /** What clients are told of the server. */
  readonly #server: { readonly name: string; readonly version: string };
  /** What requests call, once their bodies are known. */
  readonly #called = new WeakMap<Exchange, DescMethod>();

  /** @throws {TypeError} without a tool. */
  constructor(parts: McpParts) {
    const { tools, settings } = parts;
    this.#parts = parts;
    this.#names = [...tools.keys()];
    const [any] = tools.values();
    if (any === undefined) throw new TypeError("mcp.tools: no method is named");
    this.#any = any;
    const services = new Set([...tools.values()].map(({ spec }) => spec.method.parent.typeName));
    this.#server = settings.server ?? { name: [...services].join(", "), version: "0.0.0" };
  }

  /** The method that a request calls, as far as it is known. */
  methodOf(exchange: Exchange): DescMethod | undefined {
    return this.#called.get(exchange) ?? this.#named(exchange)?.spec.method;
  }

  async serve(exchange: Exchange, values: ContextValues | undefined): Promise<void> {
    const tools = { named: this.#named(exchange), any: this.#any };
    const admission = new Admission(exchange, values, tools);
    let message: RpcMessage | undefined;
    try {
      this.#assertOrigin(exchange);
      await admission.pass();
      message = await this.#read(admission);
      const era = eraOf(exchange, message);
      const { id } = message;
      if (id === undefined) exchange.respond(accepted);
      else if (message.method === "tools/call")
        await this.#call({ ...message, id }, era, admission);
      else exchange.respond(this.#answer({ ...message, id }, era));
      admission.context.release();
    } catch (error) {
      exchange.respond(this.#failed(error, message?.id, admission));
    }
  }

  #named(exchange: Exchange): Tool | undefined {
    return this.#parts.tools.get(nameHeader(exchange) ?? "");
  }

  /** The Host of a page that DNS rebinding has brought here is that of its Origin, too. */
  #assertOrigin(exchange: Exchange): void {
    const origin = headerOf(exchange, "origin");
    const { origins } = this.#parts;
    if (origin === null || origins.includes(origin) || origins.includes("*")) return;
    if (origin === exchange.origin && loopback.test(origin)) return;
    throw new RestFailure(403, Code.PermissionDenied, "pages of this Origin must not call");
  }

  #read({ exchange, endpoint: { options }, context }: Admission): RpcMessage | Promise<RpcMessage> {
    const request: WholeRequest = {
      header: context.requestHeader,
      readBody: (limit, parse) => readWhole(exchange, limit, parse),
    };
    assertMediaType(request, ["application/json"]);
    const parse = (bytes: Uint8Array) => parseMessage(bytes, options.readMaxValues);
    return context.inTime(readBody(request, readLimits(options), parse));
  }

  async #call({ id, params }: RpcRequest, era: Era, admission: Admission): Promise<void> {
    const { name, arguments: args = {}, _meta: meta } = params;
    const tool = typeof name === "string" ? this.#parts.tools.get(name) : undefined;
    if (tool === undefined) throw invalidParams(`Unknown tool: ${String(name).slice(0, 100)}`);
    if (!isJsonObject(args)) throw invalidParams("arguments must be an object");
    const { exchange } = admission;
    this.#called.set(exchange, tool.spec.method);
    const { context, callee } = admission.of(tool);
    const token = isJsonObject(meta) ? stringOrInteger(meta["progressToken"]) : undefined;
    const isStream = tool.spec.kind === "server_streaming" && takesEvents(exchange);
    const wire = new ToolWire({
      ...{ tool, context, id, args },
      progressToken: isStream ? token : undefined,
      signature: this.#signature(era),
      refuse: (error) => this.#refusal(error, id, context),
    });
    const spec = this.#cut(tool.spec, wire);
    await serveCall({ ...callee, spec }, { exchange, context, wire });
  }

  /** The method, whose stream ends when the result is full. */
  #cut(spec: Tool["spec"], wire: ToolWire): Tool["spec"] {
    if (spec.kind === "unary") return spec;
    const { stream } = this.#parts.settings;
    const impl: typeof spec.impl = (message, context) =>
      untilFull(spec.impl(message, context), wire, stream, context);
    return { ...spec, impl };
  }

  #answer({ id, method, params }: RpcRequest, era: Era): Response {
    const { instructions } = this.#parts.settings;
    const abilities = { capabilities: { tools: {} }, ...(instructions && { instructions }) };
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
    const message = `Method not found: ${method.slice(0, 100)}`;
    // To older clients, a 404 means that a session has ended.
    const status = era === "modern" ? 404 : 200;
    throw new ProtocolError(status, { code: errorCodes.methodNotFound, message });
  }

  /** @param cursor The name of the first tool of the page. */
  #list(id: string, era: Era, cursor: unknown): Response {
    const start = cursor === undefined ? 0 : this.#names.indexOf(String(cursor));
    if (start < 0) throw invalidParams("the cursor is unknown");
    const end = start + toolsPerPage;
    const tools = this.#names.slice(start, end).map((name) => this.#parts.tools.get(name));
    const texts = tools.map((tool) => tool?.description());
    const nextCursor = this.#names[end];
    const last = { ...(nextCursor !== undefined && { nextCursor }), ...cacheHints };
    return this.#result(id, era, last, `"tools":[${texts.join(",")}],`);
  }

  /** @param first Members as JSON text, with a comma behind. */
  #result(id: string, era: Era, members: object, first = ""): Response {
    const all = JSON.stringify({ ...members, ...this.#signature(era) });
    const body = `{"jsonrpc":"2.0","id":${id},"result":{${first}${all.slice(1)}}`;
    return { status: 200, header: jsonHeader(body), body };
  }

  /** The members of every result. Older clients know none. */
  #signature(era: Era): object {
    if (era === "legacy") return {};
    const _meta = { "io.modelcontextprotocol/serverInfo": this.#server };
    return { resultType: "complete", _meta };
  }

  #failed(error: unknown, id: string | undefined, admission: Admission): Response {
    if (!(error instanceof ProtocolError)) {
      return this.#refusal(admission.fail(error), id, admission.context);
    }
    const body = JSON.stringify(errorMessage(id, error.error));
    const { status, code } = error;
    return { status, header: jsonHeader(body), body, code };
  }

  /** The response for what is no result: the status of HTTP says what to do about it. */
  #refusal(error: unknown, id: string | undefined, context: CallContext): Response {
    const renderError = (rest: RestError) => {
      const { status, body } = renderStatus(rest);
      const { code, message, details } = body;
      const data: JsonValue = { details };
      return { status, body: errorMessage(id, { code, message, data }) };
    };
    const response = errorResponse(error, { renderError }, context);
    const { authorization } = this.#parts.settings;
    const isRefused = response.status === 401 && authorization !== undefined;
    return isRefused ? withMetadata(response, authorization) : response;
  }
}

const loopback = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

function takesEvents(exchange: Exchange): boolean {
  return headerOf(exchange, "accept")?.includes("text/event-stream") === true;
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(200, { code: errorCodes.invalidParams, message });
}
