/** Where clients get tokens: OAuth 2.0 Protected Resource Metadata, RFC 9728. */
import type { Response } from "../http/exchange.ts";
import { jsonHeader } from "./json-rpc.ts";
import type { McpAuthorization } from "./options.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

/** The paths of the metadata: with that of the resource (section 3.1), and without. */
export function metadataPaths({ resource }: McpAuthorization): readonly string[] {
  return [wellKnown, wellKnown + new URL(resource).pathname];
}

export function metadataResponse({ resource, issuers, scopes }: McpAuthorization): Response {
  const body = JSON.stringify({
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ["header"],
    ...(scopes !== undefined && { scopes_supported: scopes }),
  });
  return { status: 200, header: jsonHeader(body), body };
}

/** The challenge of a 401, and where to get a token (section 5.1). */
export function withMetadata(response: Response, { resource }: McpAuthorization): Response {
  const { "www-authenticate": challenge = "Bearer", ...header } = response.header;
  const { origin, pathname } = new URL(resource);
  const own = String(challenge);
  const separator = own.includes(" ") ? ", " : " ";
  const metadata = `resource_metadata="${origin}${wellKnown}${pathname}"`;
  return {
    ...response,
    header: { ...header, "www-authenticate": `${own}${separator}${metadata}` },
  };
}
