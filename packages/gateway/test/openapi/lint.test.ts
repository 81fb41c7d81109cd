/** An OpenAPI linter finds no problem in documents of several kinds of services. */
import type { DescService } from "@bufbuild/protobuf";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { renderProblem } from "../../src/index.ts";
import { createOpenApiDocument, type OpenApiOptions } from "../../src/openapi/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { ShopService } from "../gen/openapi/shop/v1/shop_pb.ts";
import { compiledService } from "./compiled.ts";

const items = ["openapi.a.v1.ItemService", "openapi.b.v1.ItemService"];
const generated = [CatalogService, FieldService, BookService, ShopService];

const common = {
  title: "Test",
  license: "Apache-2.0",
  errors: { "4XX": { description: "What the client did is wrong." } },
} as const;

test.each<[string, readonly string[], OpenApiOptions]>([
  ["a catalog", ["library.v1.CatalogService"], {}],
  ["a catalog, in 3.2", ["library.v1.CatalogService"], { openapi: "3.2" }],
  ["two packages of one name", items, { names: "full" }],
  ["resources", ["openapi.shop.v1.ShopService"], { bearer: true }],
  ["resources, in 3.2", ["openapi.shop.v1.ShopService"], { bearer: true, openapi: "3.2" }],
  [
    "every option of REST",
    ["openapi.shop.v1.ShopService"],
    {
      textPattern: "^[^\\x00]*$",
      rest: {
        etag: true,
        renderError: renderProblem,
        statuses: { "openapi.shop.v1.ShopService.DeleteProduct": 204 },
      },
    },
  ],
  ["a field of every kind", ["library.v1.FieldService"], {}],
  ["what editions have", ["openapi.legacy.v1.LegacyService"], {}],
  ["edition 2024", ["openapi.modern.v1.NoteService"], {}],
  ["what proto2 had", ["openapi.old.v1.OldService"], {}],
  ["masks and bodies of every form", ["openapi.books.v1.BookService"], {}],
])("%s", async (_, names, options) => {
  const services: DescService[] = names.map(compiledService);
  const document = createOpenApiDocument(services, { ...common, ...options });
  expect(await lint(document, "recommended-strict")).toEqual([]);
});

test.each(generated.map((service) => [service.typeName, service] as const))(
  "generated code, without comments and without options, has no error by default: %s",
  async (_, service) => {
    const found = await lint(createOpenApiDocument([service], {}), "recommended");
    expect(found.filter((one) => one.startsWith("error"))).toEqual([]);
  },
);

async function lint(document: object, rules: "recommended" | "recommended-strict") {
  const source = JSON.stringify(document);
  const config = await createConfig({ extends: [rules] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  return problems.map(({ severity, ruleId, message, location }) => {
    return `${severity} ${ruleId}: ${message} ${location[0]?.pointer}`;
  });
}
