import type { DescService } from "@bufbuild/protobuf";
import type { NodeHandler } from "connect-gateway";
import { createOpenApiDocument, type OpenApiOptions } from "connect-gateway/openapi";

type Document = ReturnType<typeof createOpenApiDocument>;

export function describeServed(
  services: readonly DescService[],
  rest: NonNullable<OpenApiOptions["rest"]>,
): Document {
  // Upstreams may have services and messages of one name, also later.
  return createOpenApiDocument(services, { names: "full", rest });
}

/** The OpenAPI document of what is served by now, and a page to read it. */
export interface Reference {
  readonly handlers: ReadonlyMap<string, NodeHandler>;
  show(document: Document): void;
}

export function createReference(): Reference {
  let document = Buffer.from("{}");
  let page = Buffer.alloc(0);
  return {
    handlers: new Map([
      ["/openapi.json", serving("application/json", () => document)],
      ["/docs", serving("text/html; charset=utf-8", () => page)],
    ]),
    show(shown) {
      document = Buffer.from(JSON.stringify(shown));
      page = Buffer.from(renderPage(shown));
    },
  };
}

function serving(type: string, read: () => Buffer): NodeHandler {
  return (_request, response) => {
    const body = read();
    response.writeHead(200, { "content-type": type, "content-length": body.length });
    response.end(body);
  };
}

/** Needs no script: each operation and schema unfolds to its part of the document. */
function renderPage({ paths, components }: Document): string {
  const operations = Object.entries(paths as Document).flatMap(([path, item]) =>
    Object.entries(item as Document).map(([method, operation]) =>
      renderPart(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  const { schemas = {} } = components as Document;
  const types = Object.entries(schemas as Document).map(([name, schema]) =>
    renderPart(name, schema),
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>API reference</title>
<style>body { font-family: sans-serif; color-scheme: light dark } summary { font-family: monospace }</style>
<h1>API reference</h1>
<p><a href="openapi.json">openapi.json</a></p>
<h2>Operations</h2>
${operations.join("\n")}
<h2>Schemas</h2>
${types.join("\n")}
</html>
`;
}

function renderPart(title: string, part: unknown): string {
  const json = escapeHtml(JSON.stringify(part, undefined, 2));
  return `<details><summary>${escapeHtml(title)}</summary><pre>${json}</pre></details>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
