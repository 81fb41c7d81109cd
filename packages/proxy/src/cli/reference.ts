import { createHash } from "node:crypto";
import type { DescService } from "@bufbuild/protobuf";
import type { NodeHandler } from "connect-gateway";
import { createOpenApiDocument, type OpenApiOptions } from "connect-gateway/openapi";
import { hasAuth } from "connect-gateway-kit/auth/settings";
import { type ApiDocument, renderReference } from "connect-gateway-kit/reference";
import type { Settings } from "./settings.ts";

type Document = ReturnType<typeof createOpenApiDocument>;

export function describeServed(
  services: readonly DescService[],
  rest: NonNullable<OpenApiOptions["rest"]>,
  settings: Settings,
): Document {
  const { openapiTitle: title, openapiVersion: version, pathPrefix = "/", tls, auth } = settings;
  const urls = settings.openapiServers.length > 0 ? settings.openapiServers : [pathPrefix];
  const securitySchemes = {
    ...(hasAuth(auth) && { bearer: { type: "http", scheme: "bearer" } }),
    ...(tls?.clientCaFile !== undefined && { certificate: { type: "mutualTLS" } }),
  };
  const required = Object.keys(securitySchemes).map((name) => [name, []]);
  return createOpenApiDocument(services, {
    names: "full", // upstreams may have services and messages of one name, also later
    ...(title !== undefined && { title }),
    version,
    servers: urls.map((url) => ({ url })),
    securitySchemes,
    security: required.length > 0 ? [Object.fromEntries(required)] : [],
    rest,
  });
}

/** The OpenAPI document of the methods served now, and a page to read it. */
export function createReference() {
  let document: Buffer | undefined;
  let page: Buffer | undefined;
  return {
    handlersAt: (prefix: string): [string, NodeHandler][] => [
      [`${prefix}/openapi.json`, serving("application/json", () => document)],
      [`${prefix}/docs`, serving("text/html; charset=utf-8", () => page)],
    ],
    show(shown: Document) {
      document = Buffer.from(JSON.stringify(shown));
      page = Buffer.from(renderPage(shown as unknown as ApiDocument));
    },
  };
}

const style = `
body { max-width: 72rem; margin: 2rem auto; padding: 0 1.25rem; color-scheme: light dark;
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word }
code, pre { font: 0.875em ui-monospace, monospace }
h2 { margin-top: 3rem; border-top: 1px solid; padding-top: 1rem }
table { width: 100%; border-collapse: collapse; font-size: 0.9375rem }
th, td { padding: 0.375rem 1rem 0.375rem 0; border-bottom: 1px solid #8886; text-align: left;
  vertical-align: top }
th { white-space: nowrap }
pre { white-space: pre-wrap }
@media (max-width: 40rem) {
  table, tbody, tr, td { display: block }
  thead { display: none }
  td { padding: 0.125rem 0; border: 0 }
  tr { padding: 0.5rem 0; border-bottom: 1px solid #8886 }
  td:not(:empty)::before { content: attr(data-title) ": "; opacity: 0.7 }
}
`;

const styleDigest = createHash("sha256").update(style).digest("base64");
/** https://www.w3.org/TR/CSP3: the comments of upstreams' protos are only text. */
const policy = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** @param read Undefined while no services are described. */
function serving(type: string, read: () => Buffer | undefined): NodeHandler {
  return ({ method }, response) => {
    const refuse = (status: number, header: Readonly<Record<string, string>>, text: string) => {
      response.writeHead(status, { "content-type": "text/plain", ...header });
      response.end(`${text}\n`);
    };
    if (method !== "GET" && method !== "HEAD")
      return refuse(405, { allow: "GET, HEAD" }, "the method must be GET or HEAD");
    const body = read();
    if (body === undefined)
      return refuse(503, { "retry-after": "1" }, "there is no document yet; try again later");
    response.writeHead(200, {
      "content-type": type,
      "content-length": body.length,
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
    });
    response.end(body);
  };
}

function renderPage(document: ApiDocument): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>API reference</h1>
<p><a href="openapi.json">openapi.json</a></p>
${renderReference(document)}
</main>
</body>
</html>
`;
}
