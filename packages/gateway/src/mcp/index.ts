/** Methods as tools of the Model Context Protocol: https://modelcontextprotocol.io */
import type { AddRoutes, OwnRoute } from "../adapter/routes.ts";
import { metadataOf } from "./authorization.ts";
import { McpHandler } from "./handler.ts";
import { type McpOptions, resolveMcpOptions } from "./options.ts";
import { createTools } from "./tool.ts";

export type { AddRoutes as Mcp } from "../adapter/routes.ts";
export type { McpAuthorization, McpOptions } from "./options.ts";

/** Below the prefix of all paths. */
const path = "/mcp";

/**
 * Offers methods to language models at `/mcp`: the value of the gateway's option `mcp`.
 *
 * @throws {TypeError} for an invalid option. The gateway throws one for a name that is not served.
 */
export function createMcp(options: McpOptions): AddRoutes {
  const settings = resolveMcpOptions(options);
  const { authorization } = settings;
  return ({ endpoints, prefix, settings: { rules }, origins }) => {
    const handler = new McpHandler(settings, createTools(endpoints, settings, rules), origins);
    const endpoint: OwnRoute = {
      ...{ path: prefix + path, pathTemplate: path, allow: ["POST"], protocol: "mcp" },
      methodOf: (exchange) => handler.methodOf(exchange),
      serve: (exchange, values) => handler.serve(exchange, values),
    };
    const metadata = authorization === undefined ? [] : [...metadataOf(authorization)];
    return [
      endpoint,
      ...metadata.map(([at, response]): OwnRoute => {
        const serve: OwnRoute["serve"] = async (exchange) => exchange.respond(response);
        const route = { path: at, pathTemplate: undefined, allow: ["GET"], serve };
        return { ...route, protocol: "mcp", methodOf: () => undefined };
      }),
    ];
  };
}
