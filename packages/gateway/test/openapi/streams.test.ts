/** Bodies: one message, a stream of messages, or a google.api.HttpBody. */
import { describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { ShopService } from "../gen/openapi/shop/v1/shop_pb.ts";
import { type Any, documentOf, operationOf, validatorOf } from "./document-of.ts";

const volume = { $ref: "#/components/schemas/Volume" };
const error = { $ref: "#/components/schemas/Status" };
const bytes = { schema: { type: "string", format: "binary" } };

const catalog = documentOf(CatalogService);
const later = documentOf(CatalogService, { openapi: "3.2" });
const answerOf = (document: Any, id: string) => operationOf(document, id).responses["200"].content;
const bodyOf = (document: Any, id: string) => operationOf(document, id).requestBody?.content;

const arrayAndLines = ["application/json", "application/x-ndjson"];
const textOf = (contentSchema: object) => ({ type: "string", contentSchema });

test("one message is JSON", () => {
  expect(answerOf(catalog, "GetVolume")).toEqual({ "application/json": { schema: volume } });
  expect(bodyOf(catalog, "GetVolume")).toBeUndefined();
});

describe("a stream of answers", () => {
  const not = { properties: { error: { type: "boolean" } } }; // generators would require an error of volumes
  const item = { anyOf: [volume, { type: "object", properties: { error }, not }] };

  test("is text in 3.1, except for the array", () => {
    const content = answerOf(catalog, "WatchVolumes");
    expect(Object.keys(content)).toEqual([...arrayAndLines, "text/event-stream"]);
    expect(content["application/x-ndjson"].schema).toMatchObject(textOf(item));
    expect(content["text/event-stream"].schema).toMatchObject(textOf(volume));
    expect(content["application/json"].schema).toEqual({ type: "array", items: item });
  });

  test("is items in 3.2", () => {
    const content = answerOf(later, "WatchVolumes");
    expect(content["application/x-ndjson"]).toEqual({ itemSchema: item });
    expect(content["application/json"].schema).toEqual({ type: "array", items: item });
    const allows = validatorOf(later, content["text/event-stream"].itemSchema);
    expect(allows({ data: "{}" })).toBe(true);
    expect(allows({ event: "error", data: "{}" })).toBe(true);
    expect(allows({ event: "end", data: "null" })).toBe(true);
    expect(allows({ event: "other", data: "{}" })).toBe(false);
    expect(allows({})).toBe(false);
  });
});

test("a stream of requests is NDJSON or an array", () => {
  const item = { $ref: "#/components/schemas/VolumeInput" };
  const content = bodyOf(catalog, "ImportVolumes");
  expect(Object.keys(content)).toEqual(arrayAndLines);
  expect(content["application/x-ndjson"].schema).toMatchObject(textOf(item));
  expect(content["application/json"].schema).toMatchObject({ type: "array", items: item });
  const lines = bodyOf(later, "ImportVolumes")["application/x-ndjson"];
  expect(lines).toMatchObject({ itemSchema: item });
  const selector = "library.v1.CatalogService.ImportVolumes";
  const rules = [{ selector, pattern: { case: "post", value: "/v1/import" } }] as const;
  const bare = bodyOf(documentOf(CatalogService, { rest: { rules } }), "ImportVolumes");
  expect(bare["application/json"].schema.items).toEqual({ type: "null" });
});

test.each([
  ["DownloadVolume", answerOf, { "*/*": bytes }],
  ["StreamVolume", answerOf, { "*/*": bytes }],
  ["UploadVolume", bodyOf, {}], // Java would send the type */*
  ["AppendVolume", bodyOf, {}],
])("%s has bytes of any type", (id, contentOf, others) => {
  expect(contentOf(catalog, id)).toEqual({ "application/octet-stream": bytes, ...others });
});

test.each([
  [CatalogService, "CreateVolume", false],
  [CatalogService, "ImportVolumes", false],
  [CatalogService, "UploadVolume", false],
  [ShopService, "CreateProduct", true],
])("%s: whether the body of %s is required: %s", (service, id, isRequired) => {
  expect(operationOf(documentOf(service), id).requestBody.required).toBe(isRequired);
});

test("bidirectional streams and methods without a rule are omitted", () => {
  const ids = (document: Any) =>
    Object.values<Any>(document.paths).flatMap((item) =>
      Object.values<Any>(item).map(({ operationId }) => operationId),
    );
  expect(ids(documentOf(ShopService))).not.toContain("Haggle");
  const selector = "openapi.shop.v1.ShopService.Haggle";
  const rule = { selector, pattern: { case: "post", value: "/v1/haggle" }, body: "*" } as const;
  expect(ids(documentOf(ShopService, { rest: { rules: [rule] } }))).not.toContain("Haggle");
  expect(ids(documentOf(LibraryService, { openapi: "3.2" }))).not.toContain("CountBooks");
});

test("a body that shares its message with the path has the other fields alone", () => {
  const name = "CatalogServiceMoveVolumeBody";
  const { schema } = bodyOf(catalog, "MoveVolume")["application/json"];
  expect(schema.$ref).toBe(`#/components/schemas/${name}`);
  const { properties, additionalProperties } = catalog.components.schemas[name];
  expect([Object.keys(properties), additionalProperties]).toEqual([["to"], false]);
});

test("an answer can be a field", () => {
  const answer = answerOf(documentOf(LibraryService, { openapi: "3.2" }), "AddBooks");
  const items = { $ref: "#/components/schemas/Int64Text" };
  expect(answer["application/json"].schema).toMatchObject({ type: "array", items });
});
