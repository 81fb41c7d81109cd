import type { Registry } from "@bufbuild/protobuf";
import type { ProtectedResource } from "../adapter/protected-resource.ts";
import { assertOptions } from "../rpc/options.ts";

export interface McpOptions {
  /**
   * The methods that models may call: full names of services, and of methods as
   * `pkg.v1.Service/Method`. Of a service, methods whose requests are a stream are left out.
   * A name that is not served throws a TypeError at startup.
   */
  readonly tools: readonly string[];
  /** The description of the server for clients. Default: the names of the services, and `0.0.0`. */
  readonly server?: { readonly name: string; readonly version: string };
  /** What models should know to use the tools. Default: nothing. */
  readonly instructions?: string;
  /**
   * Descriptors with the comments of the protos, as `buf build -o` writes them: generated code has
   * none. Default: the descriptors that are served.
   */
  readonly descriptors?: Registry;
  /**
   * `plain` for clients that refuse `$ref`, `anyOf` and `not`. Such schemas are longer, and allow
   * more than the server does. Default `full`.
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
  assertOptions("mcp", options, {
    tools: "list",
    server: "object",
    instructions: "string",
    descriptors: "object",
    schemas: ["full", "plain"],
    textPattern: "string",
    authorization: "object",
    streamBytesMax: "number",
    streamTimeMs: "number",
  });
  const resource = options.authorization?.resource;
  // Metadata have their place beside it.
  if (resource !== undefined && !/^https?:$/.test(URL.parse(resource)?.protocol ?? "")) {
    throw new TypeError(`mcp.authorization.resource must be a URL of https or http: ${resource}`);
  }
  const { schemas = "full", streamBytesMax = 256 * 1024, streamTimeMs = 10_000 } = options;
  for (const [name, value] of Object.entries({ streamBytesMax, streamTimeMs })) {
    if (Number.isInteger(value) && value > 0 && value < 2 ** 31) continue;
    throw new TypeError(`mcp.${name} must be a whole number from 1 to 2^31 - 1: ${value}`);
  }
  return { ...options, schemas, streamBytesMax, streamTimeMs };
}

export type McpSettings = ReturnType<typeof resolveMcpOptions>;
