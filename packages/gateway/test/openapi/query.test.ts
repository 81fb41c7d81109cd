/** Query parameters: the document has exactly those that the gateway accepts. */
import { describe, expect, test } from "vitest";
import { bindRequest } from "../../src/rest/request/bind.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { compiledService } from "./compiled.ts";
import { type Any, documentOf, operationOf, validatorOf } from "./document-of.ts";

const document = documentOf(compiledService("openapi.shop.v1.ShopService"));
const list = operationOf(document, "ListProducts");
const parameter = (name: string) => list.parameters.find((one: Any) => one.name === name);

test("nested fields, lists, maps and texts are parameters; other messages are not", () => {
  const inQuery = list.parameters.filter((one: Any) => one.in === "query");
  expect(inQuery.map(({ name }: Any) => name)).toEqual([
    ...["pageSize", "filter.centsMin", "filter.title", "filter.shop", "filter.town"],
    ...["order", "labels", "since", "mask", "token"],
  ]);
  expect(list.parameters[0]).toMatchObject({ name: "shop", in: "path" });
});

test.each([
  ["pageSize", { schema: { type: "integer", format: "int32" } }],
  ["filter.centsMin", { schema: { $ref: "#/components/schemas/Int64Text" } }],
  ["filter.shop", { description: "In that shop. At most one of `shop`, `town`." }],
  ["order", { schema: { type: "array", items: { $ref: "#/components/schemas/SizeName" } } }],
  ["labels", { style: "deepObject", explode: true, schema: { type: "object" } }],
  ["since", { schema: { $ref: "#/components/schemas/Timestamp" } }],
])("%s is %j", (name, expected) => {
  expect(parameter(name)).toMatchObject(expected);
});

test("siblings of the body in its oneof are none", () => {
  const { parameters } = operationOf(documentOf(BookService), "AddBook");
  expect(parameters.map(({ name }: Any) => name)).toEqual(["validateOnly", "takenBy"]);
});

test("a required field of an optional message is not required", () => {
  const required = list.parameters.filter((one: Any) => one.required);
  expect(required.map(({ name }: Any) => name)).toEqual(["shop"]);
});

describe("of a message with a field of every kind", () => {
  const rule = {
    selector: "library.v1.FieldService.Echo",
    pattern: { case: "get", value: "/v1/e" },
  } as const;
  const every = documentOf(FieldService, { rest: { rules: [rule] } });
  const { parameters } = operationOf(every, "Echo");
  const candidates = [
    ...["0", "1", "-1", "1.5", "true", "a", "", "9007199254740993", "GENRE_NOVEL"],
    ...["2024-01-01T00:00:00Z", "1.5s", "title", "AA==", "NULL_VALUE"],
  ];

  test.each<[string, Any]>(parameters.map((one: Any) => [one.name, one]))("%s", (name, one) => {
    const allows = validatorOf(every, one.schema);
    const forms = candidates.map((text) => ({ text, values: valuesOf(text) }));
    const given = forms.filter(({ values }) =>
      values.some((value) => allows(wrapped(one.schema, value))),
    );
    expect(given).not.toEqual([]);
    expect(JSON.stringify(one.schema)).not.toContain("contentEncoding"); // Go's clients encode none
    for (const { text } of given) {
      const key = one.style === "deepObject" ? keyOf(one.schema) : undefined;
      const query = key === undefined ? name : `${name}[${key}]`;
      const isSent = isTaken(EveryFieldSchema, `${query}=${encodeURIComponent(text)}`);
      expect([text, isSent]).toEqual([text, true]);
    }
  });

  test("has everything that the gateway accepts", () => {
    const names = new Set(parameters.map(({ name }: Any) => name));
    const missing = EveryFieldSchema.fields
      .map(({ jsonName }) => jsonName)
      .filter((name) => !names.has(name))
      .filter((name) =>
        candidates.some((text) => {
          const value = encodeURIComponent(text);
          return ["", "[1]", "[a]", "[true]"].some((key) =>
            isTaken(EveryFieldSchema, `${name}${key}=${value}`),
          );
        }),
      );
    expect(missing).toEqual([]);
  });
});

test("fields in the body or the path are not query parameters", () => {
  const names = (id: string) =>
    (operationOf(document, id).parameters ?? [])
      .filter((one: Any) => one.in === "query")
      .map(({ name }: Any) => name);
  expect(names("CreateProduct")).toEqual(["validateOnly"]);
  expect(names("UpdateProduct")).toEqual(["updateMask"]);
  expect(names("MoveProduct")).toEqual([]);
  expect(names("GetProduct")).toEqual([]);
});

function isTaken(input: Parameters<typeof bindRequest>[0], query: string): boolean {
  try {
    bindRequest(input, { pathValues: [], query, bodyField: undefined, body: undefined }, {});
    return true;
  } catch {
    return false;
  }
}

/** The possible values of a query text. */
function valuesOf(text: string): unknown[] {
  const number = text === "" ? [] : [Number(text)].filter(Number.isFinite);
  const bool = text === "true" ? [true] : [];
  return [text, ...number, ...bool];
}

function wrapped(schema: Any, value: unknown): unknown {
  if (schema.type === "array") return [value];
  return schema.type === "object" ? { [keyOf(schema)]: value } : value;
}

function keyOf(schema: Any): string {
  const { enum: names, pattern = "" } = schema.propertyNames ?? {};
  return names?.[0] ?? (new RegExp(pattern).test("a") ? "a" : "1");
}
