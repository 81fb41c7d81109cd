/** Messages of JSON-RPC 2.0, as MCP restricts them: https://modelcontextprotocol.io/specification */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseJson } from "../codec/json-messages.ts";
import { type ExactJson, isJsonObject, JsonNumber, rawJson } from "../codec/json-value.ts";
import { byteLengthOf } from "../http/body.ts";
import type { Response } from "../http/exchange.ts";
import type { RenderedError } from "../rest/error.ts";

/** A request, or a notification, which has no id. */
export interface RpcMessage {
  /** As JSON text. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: { readonly [name: string]: ExactJson };
}

const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedProtocolVersion: -32022,
} as const;

/** What is wrong with a request before it is a call of a tool. */
export class ProtocolError extends ConnectError {
  /** That of HTTP. */
  readonly status: number;
  readonly #rpc: JsonObject;

  constructor(status: number, kind: keyof typeof codes, text: string, more: object = {}) {
    const message = text.toWellFormed();
    super(message, kind === "methodNotFound" ? Code.Unimplemented : Code.InvalidArgument);
    this.status = status;
    this.#rpc = { code: codes[kind], message, ...more };
  }

  render(id: RpcMessage["id"]): RenderedError {
    return { status: this.status, body: envelope(id, { error: this.#rpc }) };
  }

  /** ConnectError's own check accepts everything that looks like a ConnectError. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && #rpc in value;
  }
}

/** What the envelope may hold besides the arguments: ids, and what clients tell of themselves. */
const envelopeValuesMax = 200;

/**
 * Parses a body. Batches and responses are rejected: MCP has none for servers.
 *
 * @param valuesMax The maximum number of values in the arguments.
 * @throws {ProtocolError}
 */
export function parseMessage(bytes: Uint8Array, valuesMax = Number.POSITIVE_INFINITY): RpcMessage {
  const json = parseBody(bytes, valuesMax + envelopeValuesMax);
  if (!isJsonObject(json) || json["jsonrpc"] !== "2.0") {
    throw invalidRequest('the body must be one JSON-RPC message, with "jsonrpc": "2.0"');
  }
  const { method, params = {}, id: given } = json;
  if (typeof method !== "string") throw invalidRequest("method must be a string");
  if (!isJsonObject(params)) throw invalidRequest("params must be an object");
  const id = stringOrInteger(given);
  if (given === undefined ? !method.startsWith("notifications/") : id === undefined) {
    throw invalidRequest("id must be a string or an integer: only notifications have none");
  }
  return { id, method, params };
}

function parseBody(bytes: Uint8Array, valuesMax: number): ExactJson {
  try {
    return parseJson(bytes, valuesMax);
  } catch (error) {
    throw new ProtocolError(400, "parseError", ConnectError.from(error).rawMessage);
  }
}

function invalidRequest(message: string): ProtocolError {
  return new ProtocolError(400, "invalidRequest", message);
}

/** Its JSON text, exactly: an integer past 2^53, too. Undefined for anything else. */
export function stringOrInteger(json: ExactJson | undefined): string | undefined {
  if (typeof json === "string") return JSON.stringify(json);
  if (typeof json !== "number" && !(json instanceof JsonNumber)) return undefined;
  const text = json instanceof JsonNumber ? json.source : String(json);
  return /^-?\d{1,32}$/.test(text) ? text : undefined;
}

/** @param id As JSON text; undefined if it is not known. */
export function envelope(id: RpcMessage["id"], members: JsonObject): JsonObject {
  const value: JsonValue = id === undefined ? null : JSON.parse(id);
  const isExact = typeof value === "string" || String(value) === id;
  const known = id !== undefined && { id: isExact ? value : rawJson(id) };
  return { jsonrpc: "2.0", ...known, ...members };
}

/** @param first Members of the result as JSON text, with a comma behind. */
export function resultText(id: RpcMessage["id"], result: object, first = ""): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{${first}${JSON.stringify(result).slice(1)}}`;
}

export function jsonResponse(body: string): Response {
  const header = { "content-type": "application/json", "content-length": byteLengthOf(body) };
  return { status: 200, header, body };
}
