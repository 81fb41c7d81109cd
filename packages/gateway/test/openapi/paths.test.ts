/** Templates of google.api.http as OpenAPI paths, whose parameters have one segment each. */
import type { DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { mapValues } from "../../src/openapi/components.ts";
import {
  GetVolumeRequestSchema,
  UpdateVolumeRequestSchema,
  VolumeSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { describeMethods, type MethodDescription, type Rule } from "../support/described-method.ts";
import { type Any, documentOf } from "./document-of.ts";

const get = (path: string): Rule => ({ pattern: { case: "get", value: path } });
const custom = (kind: string, path: string): Rule => ({
  pattern: { case: "custom", value: { kind, path } },
});

function describeAll(
  rules: Readonly<Record<string, Rule>>,
  input: DescMessage = GetVolumeRequestSchema,
) {
  const methods = Object.entries(rules).map(
    ([name, rule]): MethodDescription => ({ name, input, output: VolumeSchema, rule }),
  );
  const [method] = describeMethods(methods);
  if (method === undefined) throw new Error("no methods");
  return method.parent;
}

const namesOf = (operation: Any) =>
  (operation.parameters ?? [])
    .filter((parameter: Any) => parameter.in === "path")
    .map(({ name }: Any) => name);

test.each([
  ["/v1/volumes/{id}", "/v1/volumes/{id}", ["id"]],
  ["/v1/{name=shelves/*/volumes/*}", "/v1/shelves/{shelf}/volumes/{volume}", ["shelf", "volume"]],
  ["/v1/{name=data/*/addresses/*}", "/v1/data/{data}/addresses/{address}", ["data", "address"]],
  ["/v1/{name=shelves/*/shelves/*}", "/v1/shelves/{shelf}/shelves/{shelf_2}", ["shelf", "shelf_2"]],
  ["/v1/{name=old-books/*}/{id}", "/v1/old-books/{old_book}/{id}", ["old_book", "id"]],
  ["/v1/{name=*/*}", "/v1/{name}/{name_2}", ["name", "name_2"]],
  ["/v1/*/volumes/{id}", "/v1/{segment}/volumes/{id}", ["segment", "id"]],
  ["/v1/{name=fixed}", "/v1/fixed", []],
])("%s is %s", (template, path, names) => {
  const { paths } = documentOf(describeAll({ Get: get(template) }));
  expect(Object.keys(paths)).toEqual([path]);
  expect(namesOf(paths[path].get)).toEqual(names);
});

test.each([
  ["/v1/{name}", { type: "string", minLength: 1 }],
  ["/v1/{name=shelves/*}", { type: "string", minLength: 1, pattern: "^[^/]+$" }],
])("a segment is never empty: %s", (template, schema) => {
  const [{ get: found }] = Object.values<Any>(
    documentOf(describeAll({ Get: get(template) })).paths,
  );
  expect(found.parameters[0].schema).toEqual(schema);
});

test("a nested field has no dot in its name", () => {
  const document = documentOf(
    describeAll({ Get: get("/v1/{volume.id}") }, UpdateVolumeRequestSchema),
  );
  expect(Object.keys(document.paths)).toEqual(["/v1/{volume_id}"]);
});

describe("** has slashes, which a parameter of 3.1 encodes:", () => {
  const service = describeAll({ Get: get("/v1/{name=files/**}"), Pick: get("/v1/files/{id}/*") });

  test("3.1 has an operation for each of the first numbers of segments that is free", () => {
    const { paths } = documentOf(service);
    expect(
      Object.values<Any>(paths).map(({ get: one }) => [one.operationId, namesOf(one)]),
    ).toEqual([
      ["Described_Get", ["name"]],
      ["Described_Get_3", ["name", "name_2", "name_3"]],
      ["Described_Get_4", ["name", "name_2", "name_3", "name_4"]],
      ["Described_Pick", ["id", "segment"]],
    ]);
    const [parameter] = paths["/v1/files/{name}"].get.parameters;
    expect(parameter.description).toMatch(/^One segment .* A slash in it stays `%2F`/);
    expect(parameter).not.toHaveProperty("allowReserved");
  });

  test("3.2 has one, whose parameter may have slashes", () => {
    const { paths } = documentOf(service, { openapi: "3.2" });
    expect(Object.keys(paths)).toEqual(["/v1/files/{name}", "/v1/files/{id}/{segment}"]);
    const [parameter] = paths["/v1/files/{name}"].get.parameters;
    expect(parameter).toMatchObject({ allowReserved: true, schema: { type: "string" } });
  });
});

test.each([
  [{ Get: get("/v1/volumes/{id}"), Remove: del("/v1/volumes/{name}") }, "/v1/volumes/{id}", "id"],
  [
    { Get: get("/v1/{name=shelves/*}"), Remove: del("/v1/shelves/{id}") },
    "/v1/shelves/{shelf}",
    "shelf",
  ],
])("paths that differ in names of parameters alone are the same: %#", (rules, path, name) => {
  const { paths } = documentOf(describeAll(rules));
  expect(Object.keys(paths)).toEqual([path]);
  expect(Object.keys(paths[path])).toEqual(["get", "delete"]);
  expect(namesOf(paths[path].delete)).toEqual([name]);
});

describe("HTTP methods:", () => {
  test("a binding for any method gets all methods that others leave", () => {
    const rules = { Any: custom("*", "/v1/volumes"), Get: get("/v1/volumes") };
    const { paths } = documentOf(describeAll(rules));
    expect(mapValues(paths["/v1/volumes"], ({ operationId }: Any) => operationId)).toEqual({
      put: "Described_Any_put",
      post: "Described_Any_post",
      delete: "Described_Any_delete",
      patch: "Described_Any_patch",
      get: "Described_Get",
    });
  });

  test.each<[kind: string, openapi: "3.1" | "3.2", item: object]>([
    ...["SEARCH", "QUERY"].map((kind): [string, "3.1", object] => {
      const description = `OpenAPI 3.1 cannot describe the method ${kind} here: Described_Find.`;
      return [kind, "3.1", { description }];
    }),
    ["SEARCH", "3.2", { additionalOperations: { SEARCH: { operationId: "Described_Find" } } }],
    ["QUERY", "3.2", { query: { operationId: "Described_Find" } }],
  ])("%s in %s", (kind, openapi, item) => {
    const rules = { Find: custom(kind, "/v1/volumes"), Get: get("/v1/volumes") };
    const { paths } = documentOf(describeAll(rules), { openapi });
    expect(paths["/v1/volumes"]).toMatchObject({ get: { operationId: "Described_Get" }, ...item });
    expect(Object.keys(paths["/v1/volumes"])).toHaveLength(2);
  });

  test("all that a version has no name for are there", () => {
    const rules = { Find: custom("SEARCH", "/v1/volumes"), Lock: custom("LOCK", "/v1/volumes") };
    const { paths } = documentOf(describeAll(rules), { openapi: "3.2" });
    expect(Object.keys(paths["/v1/volumes"].additionalOperations)).toEqual(["SEARCH", "LOCK"]);
    const { paths: older } = documentOf(describeAll(rules));
    expect(older["/v1/volumes"].description).toMatch(/ SEARCH .* LOCK /);
  });
});

test.each<[string, Record<string, Rule>, RegExp]>([
  [
    "the same place twice",
    { A: get("/v1/{name=shelves/*}"), B: get("/v1/shelves/{id}") },
    /test\.v1\.Described\.B: OpenAPI cannot tell it from test\.v1\.Described\.A: both are GET \/v1\/shelves\/\{shelf\}/,
  ],
  ["a rule that cannot be served", { A: get("/v1/{nothing}") }, /no field nothing/],
])("is rejected: %s", (_, rules, message) => {
  expect(() => documentOf(describeAll(rules))).toThrow(message);
});

function del(path: string): Rule {
  return { pattern: { case: "delete", value: path } };
}
