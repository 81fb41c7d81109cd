/** Versions of the protocol, and the headers that must agree with the body. */
import { type Exchange, headerOf } from "../http/exchange.ts";
import { isJsonObject } from "../json/value.ts";
import { errorCodes, ProtocolError, type RpcMessage } from "./json-rpc.ts";

/** Each request says what it needs: nothing is remembered of a client. */
const modernVersion = "2026-07-28";

/** They begin with `initialize`, whose answer needs no session. */
const legacyVersions = ["2025-11-25", "2025-06-18"] as const;

export const versions: readonly string[] = [modernVersion, ...legacyVersions];

export type Era = "modern" | "legacy";

/**
 * The era of a request, whose headers agree with its body.
 *
 * @throws {ProtocolError} 400.
 */
export function eraOf(exchange: Exchange, message: RpcMessage): Era {
  const header = headerOf(exchange, "mcp-protocol-version");
  const { _meta: meta = {} } = message.params;
  const named = isJsonObject(meta) ? meta[protocolVersionKey] : undefined;
  const isHandshake = message.method === "initialize" && named === undefined;
  if (header === null && isHandshake) return "legacy";
  if (header === null) throw headerMismatch("MCP-Protocol-Version is missing");
  if (named !== undefined && named !== header) {
    throw headerMismatch(`MCP-Protocol-Version is not the ${protocolVersionKey} of _meta`);
  }
  if (!versions.includes(header)) throw unsupportedVersion(header);
  if (header !== modernVersion) return "legacy";
  // No notification has headers that this version defines.
  if (message.id !== undefined) assertModern(exchange, message, meta);
  return "modern";
}

function assertModern(exchange: Exchange, { method, params }: RpcMessage, meta: unknown): void {
  for (const key of [protocolVersionKey, "io.modelcontextprotocol/clientCapabilities"]) {
    if (isJsonObject(meta) && (meta as Record<string, unknown>)[key] !== undefined) continue;
    const message = `params._meta must have ${key}`;
    throw new ProtocolError(400, { code: errorCodes.invalidParams, message });
  }
  assertMirrored("Mcp-Method", headerOf(exchange, "mcp-method"), method);
  if (method === "tools/call") assertMirrored("Mcp-Name", nameHeader(exchange), params["name"]);
}

function assertMirrored(header: string, value: string | null | undefined, inBody: unknown): void {
  if (value === null) throw headerMismatch(`${header} is missing`);
  if (value !== inBody) throw headerMismatch(`${header} does not match the body`);
}

/** The name of the tool, by the headers; undefined for an encoded name that cannot be read. */
export function nameHeader(exchange: Exchange): string | null | undefined {
  const value = headerOf(exchange, "mcp-name");
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  if (encoded === undefined) return value;
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The version for a client that asks for one: a legacy one, as it begins with `initialize`. */
export function negotiated(requested: unknown): string {
  return legacyVersions.find((version) => version === requested) ?? legacyVersions[0];
}

const protocolVersionKey = "io.modelcontextprotocol/protocolVersion";

function headerMismatch(reason: string): ProtocolError {
  const message = `Header mismatch: ${reason}`;
  return new ProtocolError(400, { code: errorCodes.headerMismatch, message });
}

function unsupportedVersion(requested: string): ProtocolError {
  return new ProtocolError(400, {
    code: errorCodes.unsupportedProtocolVersion,
    message: "Unsupported protocol version",
    data: { supported: [...versions], requested },
  });
}
