/** The page of an OpenAPI document, by what a reader finds on it. */
import { createOpenApiDocument } from "connect-gateway/openapi";
import { expect, test } from "vitest";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { type ApiDocument, renderReference } from "../../src/reference/reference.ts";

const catalog = createOpenApiDocument([CatalogService], {
  names: "full",
}) as unknown as ApiDocument;
const html = renderReference(catalog);
const text = textOf(html);

function textOf(part: string): string {
  return part.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}

/** From its heading to the next one. */
function operation(document: ApiDocument, title: string): string {
  const [, part = ""] = renderReference(document).split(`<code>${title}</code></h2>`);
  return textOf(part.split("<h2")[0] ?? "");
}

test("each operation is in the contents and has a place of its own", () => {
  for (const [path, item] of Object.entries(catalog.paths)) {
    for (const [method, { operationId }] of Object.entries(item)) {
      const title = `${method.toUpperCase()} ${path}`;
      expect(html).toContain(`<a href="#${operationId}"><code>${title}</code></a>`);
      expect(html).toContain(`<h2 id="${operationId}"><code>${title}</code></h2>`);
    }
  }
});

test("each link leads to a place on the page, and no place is there twice", () => {
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  const links = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids).toEqual(expect.arrayContaining(links));
});

test("an operation shows its parameters, what it takes and what it returns", () => {
  const update = operation(catalog, "PATCH /v1/shelves/{shelf}/volumes/{volume}");
  expect(update).toContain("shelf in path string yes");
  expect(update).toContain("updateMask in query string no");
  expect(update).toContain("application/json or application/merge-patch+json");
  expect(update).toContain("Response 200 Content-Type: application/json , library.v1.Volume");
});

test("what operations share is told once: errors and types", () => {
  expect(html.match(/<h2>Errors/g)).toHaveLength(1);
  expect(html).toContain(">others</td>");
  expect(html.match(/id="type-library.v1.Volume"/g)).toHaveLength(1);
  expect(text).not.toMatch(/\^\(\?:0\|-/); // The pattern of an int64.
});

test("what a proto says is text, never HTML", () => {
  const evil = '<script>alert("1")</script>';
  const document: ApiDocument = {
    tags: [{ name: evil, description: evil }],
    paths: Object.fromEntries(
      ["/a", "/b"].map((path) => [
        `${path}${evil}`,
        {
          get: {
            operationId: `${path}">${evil}`,
            tags: [evil],
            summary: `\`${evil}\``,
            parameters: [{ name: evil, in: "query", schema: { enum: [evil], description: evil } }],
            responses: { 200: { content: { [evil]: { schema: { const: evil } } } } },
          },
        },
      ]),
    ),
  };
  expect(renderReference(document)).not.toMatch(/<script|"1"|"\/a">/);
});

test("what OpenAPI cannot describe is told, and errors of each status, and a type of two once", () => {
  const content = { "a/b": { schema: { $ref: "#/components/schemas/T" } } };
  const responses = { 200: { content }, 503: { description: "Away.", content } };
  const paths = { "/x": { description: "QUERY, <too>.", get: { operationId: "x", responses } } };
  const a = { $ref: "#/components/schemas/U", description: "Its own." };
  const described = { description: "Of any.", properties: { a } };
  const components = { schemas: { T: described, U: described } };
  const page = renderReference({ servers: [{ url: "/api/" }], paths, components } as never);
  expect(page).toContain("<code>GET /api/x</code></h2>");
  expect(page).toContain("<p>QUERY, &lt;too&gt;.</p>");
  expect(page.match(/<a href="#type-T">/g)).toHaveLength(2);
  expect(textOf(page)).toMatch(/ 503 Away\. .* a U no Its own\. /);
});

test.each([
  [{ type: ["string", "null"] }, "string or null"],
  [{ type: "array", items: { type: "boolean" } }, "array of boolean"],
  [{ type: "object", additionalProperties: { type: "number", format: "double" } }, "map of double"],
  [{ anyOf: [{ oneOf: [{ type: "a" }, { type: "a" }] }, { type: "null" }] }, "a or null"],
  [{ enum: ["HERB", "TREE"] }, "&quot;HERB&quot;, &quot;TREE&quot;"],
  [{ const: "HERB" }, "&quot;HERB&quot;"],
])("%j is named %s", (schema, name) => {
  const get = {
    operationId: "get",
    deprecated: true,
    parameters: [
      { name: "it", in: "query", schema },
      { name: "old", in: "query", schema: { deprecated: true } },
    ],
    responses: { 303: { content: { "a/b": {} } } },
  };
  const shown = operation({ paths: { "/x": { get } } }, "GET /x");
  expect(shown).toMatch(/Deprecated\..* old in query any no Deprecated\..* Response 303 .* a\/b/);
  expect(shown.replaceAll(/ (?=,)/g, "")).toContain(` it in query ${name} no `);
});
