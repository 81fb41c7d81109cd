/** Messages of JSON-RPC 2.0, as MCP restricts them: https://modelcontextprotocol.io/specification */
import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { byteLengthOf } from "../http/body.ts";
import { parseJson } from "../json/messages.ts";
import { type ExactJson, isJsonObject, JsonNumber, rawJson } from "../json/value.ts";

export type JsonMembers = { readonly [name: string]: ExactJson };

/** A request, or a notification, which has no id. */
export interface RpcMessage {
  /** As JSON text. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: JsonMembers;
}

export type RpcRequest = RpcMessage & { readonly id: string };

/** What is wrong with a request before it is a call of a tool. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** That of HTTP. */
  readonly status: number;
  readonly error: RpcError;

  constructor(status: number, error: RpcError) {
    super(error.message);
    this.status = status;
    this.error = error;
  }

  /** What logs and metrics call it. */
  get code(): Code {
    return this.error.code === errorCodes.methodNotFound
      ? Code.Unimplemented
      : Code.InvalidArgument;
  }
}

export type RpcError = {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
};

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  unsupportedProtocolVersion: -32022,
} as const;

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
  if (Array.isArray(json)) throw invalidRequest("batches are not supported: send one message");
  if (!isJsonObject(json) || json["jsonrpc"] !== "2.0") {
    throw invalidRequest('the body must be one JSON-RPC message, with "jsonrpc": "2.0"');
  }
  const { method, params = {}, id } = json;
  if (typeof method !== "string") throw invalidRequest("method must be a string");
  if (!isJsonObject(params)) throw invalidRequest("params must be an object");
  const text = id === undefined ? undefined : idText(id);
  if (text === undefined && !method.startsWith("notifications/")) {
    throw invalidRequest("id is missing: only notifications have none");
  }
  return { id: text, method, params };
}

function parseBody(bytes: Uint8Array, valuesMax: number): ExactJson {
  try {
    return parseJson(bytes, valuesMax);
  } catch (cause) {
    const message = cause instanceof Error && "rawMessage" in cause ? cause.rawMessage : cause;
    throw new ProtocolError(400, { code: errorCodes.parseError, message: String(message) });
  }
}

/** Ids and tokens are exact, too: an integer past 2^53 is answered as it was sent. */
function idText(id: ExactJson): string {
  const text = stringOrInteger(id);
  if (text === undefined) throw invalidRequest("id must be a string or an integer");
  return text;
}

/** The JSON text of a string or integer; undefined for anything else. */
export function stringOrInteger(json: ExactJson | undefined): string | undefined {
  if (typeof json === "string") return JSON.stringify(json);
  const text = json instanceof JsonNumber ? json.source : String(json);
  const isInteger = json instanceof JsonNumber || typeof json === "number";
  return isInteger && /^-?\d{1,32}$/.test(text) ? text : undefined;
}

function invalidRequest(message: string): ProtocolError {
  return new ProtocolError(400, { code: errorCodes.invalidRequest, message });
}

/** @param id As JSON text; undefined if it is not known. */
export function errorMessage(id: string | undefined, error: RpcError): JsonValue {
  return { jsonrpc: "2.0", ...(id !== undefined && { id: idValue(id) }), error };
}

function idValue(id: string): JsonValue {
  const value: JsonValue = JSON.parse(id);
  return typeof value === "string" || String(value) === id ? value : rawJson(id);
}

/** @param id As JSON text. */
export function resultMessage(id: string, result: JsonValue): JsonValue {
  return { jsonrpc: "2.0", id: idValue(id), result };
}

export function jsonHeader(body: string) {
  return { "content-type": "application/json", "content-length": byteLengthOf(body) };
}
