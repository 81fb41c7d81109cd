/** Where clients get tokens: OAuth 2.0 Protected Resource Metadata, RFC 9728. */
import type { OwnRoute } from "../adapter/routes.ts";
import type { Response } from "../http/exchange.ts";
import { jsonResponse } from "./json-rpc.ts";
import type { McpAuthorization } from "./options.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

/** With the path of the resource (section 3.1), and without. */
export function metadataRoutes({ resource, issuers, scopes }: McpAuthorization): OwnRoute[] {
  const metadata = {
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ["header"],
    scopes_supported: scopes,
  };
  const serve: OwnRoute["serve"] = async (exchange) =>
    exchange.respond(jsonResponse(JSON.stringify(metadata)));
  return ["", new URL(resource).pathname].map((suffix) => ({
    ...{
      path: wellKnown + suffix,
      pathTemplate: undefined,
      allow: ["GET"],
      protocol: "mcp",
      serve,
    },
  }));
}

/** The challenge of a 401, and where the metadata are (section 5.1). */
export function withMetadata(response: Response, { resource }: McpAuthorization): Response {
  const { origin, pathname } = new URL(resource);
  const challenge = String(response.header["www-authenticate"] ?? "Bearer");
  const separator = challenge.includes(" ") ? "," : "";
  const metadata = `resource_metadata="${origin}${wellKnown}${pathname}"`;
  const header = { "www-authenticate": `${challenge}${separator} ${metadata}` };
  return { ...response, header: { ...response.header, ...header } };
}
