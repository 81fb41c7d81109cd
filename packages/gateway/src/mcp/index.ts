/** Methods as tools of the Model Context Protocol: https://modelcontextprotocol.io */

import type { CreateFace } from "../adapter/routes.ts";
import { createMcpRoute } from "./handler.ts";
import { type McpOptions, resolveMcpOptions } from "./options.ts";
import { metadataEntries } from "./protected-resource.ts";
import { createTools } from "./tool.ts";

export type { CreateFace as Mcp } from "../adapter/routes.ts";
export type { McpOptions, ToolHints } from "./options.ts";
export type { ProtectedResource as McpAuthorization } from "./protected-resource.ts";
export { type StdioOptions, serveStdio } from "./stdio.ts";

/**
 * Offers methods to language models at `/mcp`: the value of the gateway's option `mcp`.
 * @throws {TypeError} for an invalid option. The gateway throws one for a name that is not served.
 */
export function createMcp(options: McpOptions): CreateFace {
  const settings = resolveMcpOptions(options);
  const { authorization } = settings;
  return ({ endpoints, prefix, settings: { rules }, origins }) => {
    const route = createMcpRoute(settings, createTools(endpoints, settings, rules), origins);
    return {
      entries: [
        { path: prefix + route.pathTemplate, method: "POST", mediaType: "*", route },
        ...(authorization === undefined ? [] : metadataEntries(authorization, "mcp")),
      ],
    };
  };
}
