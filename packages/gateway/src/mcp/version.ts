/** Versions of the protocol, and the headers that must agree with the body. */
import { base64Decode } from "@bufbuild/protobuf/wire";
import { isJsonObject } from "../codec/json-value.ts";
import { type Exchange, headerOf } from "../http/exchange.ts";
import { ProtocolError, type RpcMessage } from "./json-rpc.ts";

/** Each request says what it needs: nothing is remembered of a client. */
const modernVersion = "2026-07-28";

/** They begin with `initialize`, whose answer needs no session. */
const legacyVersions = ["2025-11-25", "2025-06-18"] as const;

export const versions: readonly string[] = [modernVersion, ...legacyVersions];

export type Era = "modern" | "legacy";

const versionKey = "io.modelcontextprotocol/protocolVersion";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/**
 * The era of a request, whose headers agree with its body.
 *
 * @throws {ProtocolError} 400.
 */
export function eraOf(exchange: Exchange, { id, method, params }: RpcMessage): Era {
  const version = headerOf(exchange, "mcp-protocol-version");
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const named = meta[versionKey];
  if (version === null) {
    if (method === "initialize" && named === undefined) return "legacy";
    throw headerMismatch("MCP-Protocol-Version is missing");
  }
  if (named !== undefined) assertMirrored("MCP-Protocol-Version", version, named);
  if (!versions.includes(version)) {
    const data = { supported: versions, requested: version };
    const message = "Unsupported protocol version";
    throw new ProtocolError(400, "unsupportedProtocolVersion", message, { data });
  }
  if (version !== modernVersion) return "legacy";
  if (id === undefined) return "modern"; // no notification has headers that this version defines
  for (const key of [versionKey, capabilitiesKey]) {
    const message = `params._meta must have ${key}`;
    if (meta[key] === undefined) throw new ProtocolError(400, "invalidParams", message);
  }
  assertMirrored("Mcp-Method", headerOf(exchange, "mcp-method"), method);
  if (method === "tools/call") assertMirrored("Mcp-Name", nameHeader(exchange), params["name"]);
  return "modern";
}

function assertMirrored(header: string, value: string | null | undefined, inBody: unknown): void {
  if (value === null) throw headerMismatch(`${header} is missing`);
  if (value !== inBody) throw headerMismatch(`${header} does not match the body`);
}

function headerMismatch(reason: string): ProtocolError {
  return new ProtocolError(400, "headerMismatch", `Header mismatch: ${reason}`);
}

/** The name of the tool, by the headers; undefined for an encoded name that cannot be read. */
export function nameHeader(exchange: Exchange): string | null | undefined {
  if (headerOf(exchange, "mcp-protocol-version") !== modernVersion) return null;
  const value = headerOf(exchange, "mcp-name");
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  if (encoded === undefined) return value;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(base64Decode(encoded));
  } catch {
    return undefined;
  }
}

/** The version for a client that asks for one: a legacy one, as it begins with `initialize`. */
export function negotiated(requested: unknown): string {
  return legacyVersions.find((version) => version === requested) ?? legacyVersions[0];
}
