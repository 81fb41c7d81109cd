/** Messages of JSON-RPC 2.0 as MCP restricts them: https://modelcontextprotocol.io/specification */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseJson } from "../codec/json-messages.ts";
import { type ExactJson, isJsonObject, JsonNumber, rawJson } from "../codec/json-text.ts";
import { type RenderError, RestFailure, renderStatus } from "../errors/http.ts";
import { type Exchange, headerOf } from "../http/exchange.ts";

/** A request, or a notification, which has no id. */
export interface RpcMessage {
  readonly id: JsonValue | undefined;
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

const errors = new WeakMap<Error, JsonObject>();

/** The error of a request that is not a valid call of a tool. @param status Of HTTP. */
export function protocolError(
  status: number,
  kind: keyof typeof codes,
  message: string,
  more: JsonObject = {},
): RestFailure {
  const code = kind === "methodNotFound" ? Code.Unimplemented : Code.InvalidArgument;
  const error = new RestFailure(status, code, message);
  errors.set(error, { code: codes[kind], message, ...more });
  return error;
}

/** Renders errors as JSON-RPC. The HTTP status says what to do about them. */
export function renderErrorOf(id: RpcMessage["id"]): RenderError {
  return (rest) => {
    const { status, body } = renderStatus(rest);
    const { details, ...error } = body;
    const known = errors.get(rest.error) ?? { ...error, data: { details } };
    return { status, body: envelope(id, { error: known }) };
  };
}

/** The protocol is stateless: each request contains everything. */
export const modernVersion = "2026-07-28";

/** They begin with `initialize`, whose answer needs no session. */
export const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export const versions: readonly string[] = [modernVersion, ...legacyVersions];

export type Era = "modern" | "legacy";

/** The maximum number of values in the envelope besides the arguments: ids, and descriptions of the client. */
export const envelopeValuesMax = 200;

/** Parses a body. Batches, which 2025-03-26 had, and responses are rejected. @throws {RestFailure} 400. */
export function parseMessage(bytes: Uint8Array): RpcMessage {
  let json: ExactJson;
  try {
    json = parseJson(bytes);
  } catch (error) {
    throw protocolError(400, "parseError", ConnectError.from(error).rawMessage);
  }
  const fail = (message: string) => protocolError(400, "invalidRequest", message);
  if (!isJsonObject(json) || json["jsonrpc"] !== "2.0") {
    throw fail('the body must be one JSON-RPC message, with "jsonrpc": "2.0"');
  }
  const { method, id: given } = json;
  const params = json["params"] ?? {};
  if (typeof method !== "string") throw fail("method must be a string");
  if (!isJsonObject(params)) throw fail("params must be an object");
  const id = stringOrInteger(given);
  if (given === undefined ? !method.startsWith("notifications/") : id === undefined) {
    throw fail("id must be a string or an integer: only notifications have none");
  }
  // Some clients write null for what they leave out.
  const known = Object.entries(params).filter(([, value]) => value !== null);
  return { id, method, params: Object.fromEntries(known) };
}

/** The same, exactly: an integer past 2^53, or 1.0, too. Undefined for anything else. */
export function stringOrInteger(json: ExactJson | undefined): JsonValue | undefined {
  if (typeof json === "string" || Number.isSafeInteger(json)) return json as JsonValue;
  const text = json instanceof JsonNumber ? json.source : JSON.stringify(json);
  return text !== undefined && /^-?\d{1,32}(?:\.0{1,32})?$/.test(text) ? rawJson(text) : undefined;
}

export const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** The era of a request, whose headers agree with its body. @throws {RestFailure} 400. */
export function eraOf(exchange: Exchange, { id, method, params }: RpcMessage): Era {
  const version = headerOf(exchange, "mcp-protocol-version");
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const named = meta[versionKey];
  // As in the official SDK: `initialize` negotiates whatever the header says, and the first version of
  // this transport had no header.
  if (named === undefined && (version === null || method === "initialize")) return "legacy";
  assertMirrored("MCP-Protocol-Version", version, named ?? version);
  if (!versions.includes(`${version}`)) {
    const data = { supported: [...versions], requested: `${version}`.slice(0, 100) };
    const message = "Unsupported protocol version";
    throw protocolError(400, "unsupportedProtocolVersion", message, { data });
  }
  if (version !== modernVersion) return "legacy";
  if (id === undefined) return "modern"; // no notification has headers that this version defines
  for (const key of [versionKey, capabilitiesKey]) {
    const message = `params._meta must have ${key}`;
    if (meta[key] === undefined) throw protocolError(400, "invalidParams", message);
  }
  assertMirrored("Mcp-Method", headerOf(exchange, "mcp-method"), method);
  if (method === "tools/call") assertMirrored("Mcp-Name", nameHeader(exchange), params["name"]);
  return "modern";
}

function assertMirrored(header: string, value: string | null | undefined, inBody: unknown): void {
  if (value === inBody && value !== null) return;
  const reason = value === null ? "is missing" : "does not match the body";
  throw protocolError(400, "headerMismatch", `Header mismatch: ${header} ${reason}`);
}

/** The name of the tool, by the headers; undefined for an encoded name that cannot be read. */
export function nameHeader(exchange: Exchange): string | null | undefined {
  if (headerOf(exchange, "mcp-protocol-version") !== modernVersion) return null;
  const value = headerOf(exchange, "mcp-name");
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  return encoded === undefined ? value : textOf(() => base64Decode(encoded));
}

/** Undefined for what is not UTF-8, or cannot be read. */
export function textOf(read: () => Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(read());
  } catch {
    return undefined;
  }
}

/** @param id Undefined if it is not known. */
export function envelope(id: RpcMessage["id"], members: JsonObject): JsonObject {
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), ...members };
}

/** @param members As JSON text. */
export function resultText(id: RpcMessage["id"], members: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${members}}}`;
}
