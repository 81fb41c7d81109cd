/** Serves the endpoint: each POST is one message, and nothing is remembered of it. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { assertOrigin } from "../adapter/cors.ts";
import { withMetadata } from "../adapter/protected-resource.ts";
import type { OwnRoute } from "../adapter/routes.ts";
import { isJsonObject } from "../codec/json-text.ts";
import { jsonResponse } from "../http/body.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import type { RestFailure } from "../rest/error.ts";
import { assertMediaType, readBody } from "../rest/request/request.ts";
import { errorResponse } from "../rest/response/response.ts";
import { serveCall } from "../rpc/call.ts";
import { CallContext, noTrailer, signalOf } from "../rpc/context.ts";
import { endingError } from "../rpc/errors.ts";
import {
  type Era,
  eraOf,
  legacyVersions,
  nameHeader,
  parseMessage,
  protocolError,
  type RpcMessage,
  renderErrorOf,
  resultText,
  versions,
} from "./message.ts";
import type { McpSettings } from "./options.ts";
import type { Tool } from "./tool.ts";
import { ToolWire } from "./wire.ts";

const toolsPerPage = 200;

/** How long clients may cache lists, and that caches are private. */
const cacheHints = { ttlMs: 60_000, cacheScope: "private" };

const accepted: Response = { status: 202, header: { "content-length": 0 }, body: "" };

/** @param origins Whose pages may call; `*` for any. @throws {TypeError} without a tool. */
export function createMcpHandler(
  settings: McpSettings,
  tools: ReadonlyMap<string, Tool>,
  origins: readonly string[],
): Pick<OwnRoute, "methodOf" | "serve"> {
  const [first] = tools.values();
  if (first === undefined) throw new TypeError("mcp.tools: no method is named");
  const services = new Set([...tools.values()].map(({ spec }) => spec.method.parent.typeName));
  const { server: serverInfo = { name: [...services].join(", "), version: "0.0.0" } } = settings;
  const abilities = { capabilities: { tools: {} }, instructions: settings.instructions };
  // The end of every result, as JSON text. Older clients ignore it.
  const meta = JSON.stringify({ "io.modelcontextprotocol/serverInfo": serverInfo });
  const modern = `,"resultType":"complete","_meta":${meta}`;
  const signatures: Readonly<Record<Era, string>> = { modern, legacy: "" };
  /** The called methods, by request. Known once the body is read. */
  const called = new WeakMap<Exchange, DescMethod>();
  const named = (exchange: Exchange) => tools.get(nameHeader(exchange) ?? "");

  async function call(message: RpcMessage, era: Era, admission: Admission): Promise<void> {
    const { name, arguments: args = {} } = message.params;
    const tool = typeof name === "string" ? tools.get(name) : undefined;
    if (tool === undefined) throw invalidParams(`Unknown tool: "${String(name).slice(0, 100)}"`);
    if (!isJsonObject(args)) throw invalidParams("arguments must be an object");
    const isAdmitted = admission.admits(tool);
    const { context, exchange } = admission;
    called.set(exchange, tool.spec.method);
    const signature = signatures[era];
    const wire = new ToolWire({ tool, context, request: message, args, signature, settings });
    await serveCall(wire.callee, { exchange, context, wire, isAdmitted });
  }

  function answer({ id, method, params }: RpcMessage, era: Era): Response {
    const result = (members: object, start = "") => {
      const text = start + JSON.stringify(members).slice(1, -1) + signatures[era];
      return jsonResponse(resultText(id, text));
    };
    switch (`${era} ${method}`) {
      case "modern server/discover":
        return result({ supportedVersions: versions, ...abilities, ...cacheHints });
      case "legacy initialize": {
        const known = legacyVersions.find((one) => one === params["protocolVersion"]);
        return result({ protocolVersion: known ?? legacyVersions[0], serverInfo, ...abilities });
      }
      case "legacy ping":
        return result({});
      case "modern tools/list":
      case "legacy tools/list": {
        const { page, nextCursor } = list([...tools.values()], params["cursor"]);
        return result({ nextCursor, ...cacheHints }, `"tools":[${page.join(",")}],`);
      }
    }
    // To older clients, a 404 means that a session has ended.
    const status = era === "modern" ? 404 : 200;
    const text = `Method not found: "${method.slice(0, 100)}"`;
    throw protocolError(status, "methodNotFound", text);
  }

  /** The response for an error. The HTTP status says what to do about it. */
  function refusal(reason: unknown, id: RpcMessage["id"], { tool, context }: Admission): Response {
    const ending = endingError(reason, tool.options, signalOf(context));
    context.abort(ending);
    const response = errorResponse(ending, { renderError: renderErrorOf(id) }, context);
    return withMetadata(response, settings.authorization);
  }

  return {
    methodOf: (exchange) => called.get(exchange) ?? named(exchange)?.spec.method,
    async serve(exchange, values) {
      const tool = named(exchange);
      const admission = new Admission(exchange, values, tool ?? first, tool !== undefined);
      let message: RpcMessage | undefined;
      try {
        assertOrigin(exchange, origins);
        await admission.pass();
        message = await read(admission);
        const era = eraOf(exchange, message);
        if (message.id === undefined) exchange.respond(accepted);
        else if (message.method === "tools/call") await call(message, era, admission);
        else exchange.respond(answer(message, era));
        admission.context.release();
      } catch (error) {
        exchange.respond(refusal(error, message?.id, admission));
      }
    },
  };
}

function read({ exchange, tool }: Admission): Promise<RpcMessage> {
  const { options } = tool;
  assertMediaType(exchange, ["application/json"]);
  const parse = (bytes: Uint8Array) => parseMessage(bytes, options.readMaxValues);
  return readBody(exchange, options, parse);
}

/** @param cursor The name of the first tool of the page. */
function list(tools: readonly Tool[], cursor: unknown) {
  const start = cursor === undefined ? 0 : tools.findIndex(({ name }) => name === cursor);
  if (start < 0) throw invalidParams("the cursor is unknown");
  const end = start + toolsPerPage;
  const page = tools.slice(start, end).map((tool) => tool.description());
  return { page, nextCursor: tools[end]?.name };
}

function invalidParams(message: string): RestFailure {
  return protocolError(200, "invalidParams", message);
}

/**
 * A request on its way to a tool. The gate runs before the body is read, but older clients name the
 * tool in the body alone. They pass the gate of any tool first, and that of the tool later, if it
 * could decide otherwise.
 */
class Admission {
  readonly exchange: Exchange;
  /** The one that the headers name, or any. */
  readonly tool: Tool;
  /** That of the call, once its tool is known. */
  context: CallContext;
  readonly #isNamed: boolean;
  #hasAskedForMethod = false;

  constructor(exchange: Exchange, values: ContextValues | undefined, tool: Tool, isNamed: boolean) {
    this.exchange = exchange;
    this.tool = tool;
    this.context = contextOf(tool, exchange, values);
    this.#isNamed = isNamed;
  }

  /** @throws what the gate throws. */
  async pass(): Promise<void> {
    const get = (context: CallContext, name: keyof CallContext) => {
      this.#hasAskedForMethod ||= name === "method" || name === "service";
      return context[name];
    };
    const { requestGate } = this.tool.options;
    await requestGate?.(this.#isNamed ? this.context : new Proxy(this.context, { get }));
  }

  /** Whether the gate of the tool that the body names is passed. */
  admits(tool: Tool): boolean {
    if (this.#isNamed) return true;
    this.context.release();
    this.context = contextOf(tool, this.exchange, this.context.values);
    return tool.options.requestGate === this.tool.options.requestGate && !this.#hasAskedForMethod;
  }
}

function contextOf(
  { spec, options }: Tool,
  exchange: Exchange,
  contextValues: ContextValues | undefined,
): CallContext {
  return new CallContext({
    ...{ exchange, method: spec.method, protocolName: "mcp", timeoutMs: undefined },
    ...{ shutdownSignal: options.shutdownSignal, contextValues },
    ...{ responseHeader: {}, responseTrailer: noTrailer },
  });
}
