/** Where clients get tokens: OAuth 2.0 Protected Resource Metadata, RFC 9728. */
import { jsonResponse } from "../http/body.ts";
import type { Response } from "../http/exchange.ts";
import type { ProtocolName } from "../rpc/call.ts";
import type { Entry } from "../rpc/face.ts";

export interface ProtectedResource {
  /** Its URL, as clients have it. */
  readonly resource: string;
  /** The issuers whose tokens are accepted. */
  readonly issuers: readonly string[];
  /** The scopes that clients should ask for. Default: not announced. */
  readonly scopes?: readonly string[];
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** The metadata, at the path of the resource (section 3.1), and without it. */
export function metadataEntries(
  { resource, issuers, scopes }: ProtectedResource,
  protocol: ProtocolName,
): readonly Entry[] {
  const metadata = {
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ["header"],
    scopes_supported: scopes,
  };
  const methods = ["GET", "HEAD"];
  const route = {
    ...{ protocol, method: undefined, pathTemplate: undefined },
    allow: () => methods,
    open: () => jsonResponse(JSON.stringify(metadata)),
  };
  return ["", new URL(resource).pathname].flatMap((path) =>
    methods.map((method) => ({ path: wellKnown + path, method, mediaType: "*", route })),
  );
}

/** The same response; the challenge of a 401 says where the metadata are (section 5.1). */
export function withMetadata(response: Response, of: ProtectedResource | undefined): Response {
  if (response.status !== 401 || of === undefined) return response;
  const { origin, pathname, search } = new URL(of.resource);
  const challenge = String(response.header["www-authenticate"] ?? "Bearer");
  const separator = challenge.includes(" ") ? "," : "";
  const metadata = `resource_metadata="${origin}${wellKnown}${pathname}${search}"`;
  const header = { "www-authenticate": `${challenge}${separator} ${metadata}` };
  return { ...response, header: { ...response.header, ...header } };
}
