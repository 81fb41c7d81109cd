import type { Registry } from "@bufbuild/protobuf";
import { assertOptions, optionKinds } from "../rpc/options.ts";
import type { ProtectedResource } from "./protected-resource.ts";

/** What a client may tell its user of a tool: https://modelcontextprotocol.io/specification */
export type ToolHints = { readonly [hint in keyof typeof hintKinds]?: boolean };

const hintKinds = {
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
} as const;

export interface McpOptions {
  /**
   * The methods that models may call: full names of services, and of methods as
   * `pkg.v1.Service/Method`. Of a service, methods whose requests are a stream are left out.
   * A name that is not served throws a TypeError at startup.
   */
  readonly tools: readonly string[];
  /** The description of the server for clients. Default: the names of the services, and `0.0.0`. */
  readonly server?: { readonly name: string; readonly version: string };
  /** Hints by method, as `pkg.v1.Service/Method`, in place of those that the proto gives. */
  readonly hints?: Readonly<Record<string, ToolHints>>;
  /** What models should know to use the tools. Default: nothing. */
  readonly instructions?: string;
  /**
   * Descriptors with the comments of the protos, as `buf build -o` writes them: generated code has
   * none. Default: the descriptors that are served.
   */
  readonly descriptors?: Registry;
  /**
   * `plain` for clients that refuse `$ref`, `anyOf`, `not` and `additionalProperties: false`. Such
   * schemas are longer, and allow more than the server, but neither `NaN` nor `null`. Default `full`.
   */
  readonly schemas?: "full" | "plain";
  /** The pattern that every text in arguments must match, for a service that refuses others. */
  readonly textPattern?: string;
  /**
   * Where clients get tokens, by RFC 9728. The resource is the endpoint, for example
   * `https://api.example.com/mcp`. Default: not announced.
   */
  readonly authorization?: ProtectedResource;
  /** The bytes of a stream's messages in one result. Default: 256 KiB. The rest is left out. */
  readonly streamBytesMax?: number;
  /** How long a stream is read for one result, in ms. Default: 10,000. */
  readonly streamTimeMs?: number;
}

/** @throws {TypeError} for an option that does not exist, or of another kind. */
export function resolveMcpOptions(options: McpOptions) {
  const kinds = optionKinds<McpOptions>()({
    "list of strings": "tools",
    object: "server hints descriptors authorization",
    string: "instructions textPattern",
    "whole number from 1 to 2^31 - 1": "streamBytesMax streamTimeMs",
    "one of full, plain": "schemas",
  });
  assertOptions("mcp", options, kinds, ["tools"]);
  const { server, authorization, descriptors, hints = {} } = options;
  if (server !== undefined) {
    assertOptions("mcp.server", server, { name: "string", version: "string" }, ["name", "version"]);
  }
  if (authorization !== undefined) {
    const texts = "list of strings";
    const kinds = { resource: "string", issuers: texts, scopes: texts } as const;
    assertOptions("mcp.authorization", authorization, kinds, ["resource", "issuers"]);
  }
  if (descriptors !== undefined && typeof descriptors.getService !== "function") {
    throw new TypeError("mcp.descriptors must be a Registry, as createFileRegistry makes one");
  }
  for (const [name, own] of Object.entries(hints)) {
    assertOptions(`mcp.hints["${name}"]`, own, hintKinds);
  }
  const resource = authorization?.resource;
  // Metadata have their place beside it.
  if (resource !== undefined && !/^https?:$/.test(URL.parse(resource)?.protocol ?? "")) {
    throw new TypeError(`mcp.authorization.resource must be a URL of https or http: ${resource}`);
  }
  const { schemas = "full", streamBytesMax = 256 * 1024, streamTimeMs = 10_000 } = options;
  return { ...options, hints, schemas, streamBytesMax, streamTimeMs };
}

export type McpSettings = ReturnType<typeof resolveMcpOptions>;
