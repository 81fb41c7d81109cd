/** Methods as tools of the Model Context Protocol: https://modelcontextprotocol.io */
import { metadataRoutes } from "../adapter/protected-resource.ts";
import type { AddRoutes } from "../adapter/routes.ts";
import { createMcpHandler } from "./handler.ts";
import { type McpOptions, resolveMcpOptions } from "./options.ts";
import { createTools } from "./tool.ts";

export type { ProtectedResource as McpAuthorization } from "../adapter/protected-resource.ts";
export type { AddRoutes as Mcp } from "../adapter/routes.ts";
export type { McpOptions } from "./options.ts";

/** Below the prefix of all paths. */
const pathTemplate = "/mcp";

/**
 * Offers methods to language models at `/mcp`: the value of the gateway's option `mcp`.
 *
 * @throws {TypeError} for an invalid option. The gateway throws one for a name that is not served.
 */
export function createMcp(options: McpOptions): AddRoutes {
  const settings = resolveMcpOptions(options);
  const { authorization } = settings;
  return ({ endpoints, prefix, settings: { rules }, origins }) => {
    const handler = createMcpHandler(settings, createTools(endpoints, settings, rules), origins);
    const protocol = "mcp";
    return [
      { ...handler, path: prefix + pathTemplate, pathTemplate, allow: ["POST"], protocol },
      ...(authorization === undefined ? [] : metadataRoutes(authorization, protocol)),
    ];
  };
}
