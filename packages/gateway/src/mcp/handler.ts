/** Serves the endpoint: each POST is one message, and nothing is remembered of it. */
import type { DescMethod } from "@bufbuild/protobuf";
import { assertOrigin } from "../adapter/cors.ts";
import { decode } from "../codec/decode.ts";
import { isJsonObject } from "../codec/json-text.ts";
import type { RestFailure } from "../errors/http.ts";
import { jsonResponse, smallResponse } from "../http/body.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import { assertMediaType, readBody } from "../rest/request/request.ts";
import { Call } from "../rpc/call.ts";
import type { Route } from "../rpc/face.ts";
import {
  type Era,
  envelopeValuesMax,
  eraOf,
  legacyVersions,
  nameHeader,
  parseMessage,
  protocolError,
  type RpcMessage,
  resultText,
  versions,
} from "./message.ts";
import type { McpSettings } from "./options.ts";
import type { Tool } from "./tool.ts";
import { createToolWire, refusal, type ToolCall, type ToolWire } from "./wire.ts";

const toolsPerPage = 200;

/** How long clients may cache lists, and that caches are private. */
const cacheHints = { ttlMs: 60_000, cacheScope: "private" };

const accepted = smallResponse(202);

const request = { id: undefined, method: "", params: {} };
const unread = { request, args: {}, signature: "", bytes: 0, isCut: false };

/** @param origins Whose pages may call; `*` for any. @throws {TypeError} without a tool. */
export function createMcpRoute(
  settings: McpSettings,
  tools: ReadonlyMap<string, Tool>,
  origins: readonly string[],
): Route & { readonly pathTemplate: string } {
  const wires = new Map([...tools].map(([name, tool]) => [name, createToolWire(tool, settings)]));
  const [first] = wires.values();
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
  const named = (exchange: Exchange) => wires.get(nameHeader(exchange) ?? "");

  /** What a message calls. @throws {RestFailure} */
  function calledBy({ params: { name, arguments: args = {} } }: RpcMessage) {
    if (typeof name !== "string") throw invalidParams("name must be a string");
    const tool = wires.get(name);
    if (tool === undefined) throw invalidParams(`Unknown tool: "${name.slice(0, 100)}"`);
    if (!isJsonObject(args)) throw invalidParams("arguments must be an object");
    return { tool, args };
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
    throw protocolError(status, "methodNotFound", `Method not found: "${method.slice(0, 100)}"`);
  }

  return {
    ...{ protocol: "mcp", method: undefined, pathTemplate: "/mcp" },
    allow: () => ["POST"],
    methodOf: (exchange) => called.get(exchange) ?? named(exchange)?.spec.method,
    async open(exchange, values) {
      const header = named(exchange);
      const isNamed = header !== undefined;
      const wire = header ?? first;
      const open = (of: ToolWire, known: typeof values, isAdmitted: boolean) =>
        new Call(of, exchange, known, { parts: { ...unread, texts: [] }, isAdmitted });
      let call = open(wire, values, true);
      let message: RpcMessage | undefined;
      try {
        assertOrigin(exchange, origins);
        const hasAsked = await passGate(call, wire, isNamed);
        message = await read(exchange, wire);
        const era = eraOf(exchange, message);
        const { id, method } = message;
        if (method !== "tools/call" || id === undefined) {
          const response = id === undefined ? accepted : answer(message, era);
          call.release();
          return response;
        }
        const { tool, args } = calledBy(message);
        called.set(exchange, tool.spec.method);
        if (!isNamed) {
          const { requestGate, admit } = tool.options;
          const isAdmitted = requestGate === wire.options.requestGate && !hasAsked;
          call.release();
          call = open(tool, call.values, isAdmitted); // with what the gate has found out
          if (isAdmitted) await call.race(Promise.resolve(admit?.(call)));
        }
        Object.assign(call.parts, { request: message, args, signature: signatures[era] });
        return call;
      } catch (error) {
        return refusal(call.fail(error), message?.id, call, settings);
      }
    },
  };
}

function read(exchange: Exchange, { options }: ToolWire): Promise<RpcMessage> {
  assertMediaType(exchange, ["application/json"]);
  const readMaxValues = options.readMaxValues + envelopeValuesMax;
  return readBody(exchange, options, (bytes) =>
    decode(bytes, { parse: parseMessage, readMaxValues }, exchange.holding),
  );
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
 * Runs the gate, before the body is read. But older clients name the tool in the body alone: they pass
 * the gate of any tool first, and that of the tool later, if it could decide otherwise.
 * @returns whether the gate has asked for the method. @throws what the gate throws.
 */
async function passGate(call: Call<ToolCall>, { options }: ToolWire, isNamed: boolean) {
  const { requestGate, admit } = options;
  let hasAsked = false;
  const get = (target: typeof call, name: keyof Call) => {
    hasAsked ||= name === "method" || name === "service";
    return target[name];
  };
  await call.race(Promise.resolve(requestGate?.(isNamed ? call : new Proxy(call, { get }))));
  if (isNamed) await call.race(Promise.resolve(admit?.(call)));
  return hasAsked;
}
