/** Where clients get tokens: OAuth 2.0 Protected Resource Metadata, RFC 9728. */
import type { Response } from "../http/exchange.ts";
import { jsonResponse } from "./json-rpc.ts";
import type { McpAuthorization } from "./options.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

/** By their paths: with that of the resource (section 3.1), and without. */
export function metadataOf(authorization: McpAuthorization): ReadonlyMap<string, Response> {
  const { resource, issuers, scopes } = authorization;
  const response = jsonResponse(
    JSON.stringify({
      resource,
      authorization_servers: issuers,
      bearer_methods_supported: ["header"],
      scopes_supported: scopes,
    }),
  );
  const paths = [wellKnown, wellKnown + new URL(resource).pathname];
  return new Map(paths.map((path) => [path, response]));
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
