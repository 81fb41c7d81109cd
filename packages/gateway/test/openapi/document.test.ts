/** The parts of a document besides paths, bodies and parameters. */
import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { createComponents, type JsonObject } from "../../src/openapi/components.ts";
import { enumNumbers } from "../../src/openapi/schema/scalar-schema.ts";
import { ItemService as ItemsOfA } from "../gen/openapi/a/v1/item_pb.ts";
import { ItemService as ItemsOfB } from "../gen/openapi/b/v1/item_pb.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { LegacyService } from "../gen/openapi/legacy/v1/legacy_pb.ts";
import { NoteService } from "../gen/openapi/modern/v1/notes_pb.ts";
import { OldService } from "../gen/openapi/old/v1/old_pb.ts";
import { ListProductsResponseSchema, ShopService } from "../gen/openapi/shop/v1/shop_pb.ts";
import { describeMethod, type Rule } from "../support/described-method.ts";
import { compiledService } from "./compiled.ts";
import { type Any, documentOf, operationOf, validatorOf } from "./document-of.ts";

/** Names of operations, schemas and tags. */
function namesIn({ paths, components, tags }: Any): string[] {
  const operations = Object.values<Any>(paths).flatMap((item) => Object.values<Any>(item));
  return [
    ...operations.map(({ operationId }) => operationId),
    ...Object.keys(components.schemas),
    ...tags.map(({ name }: Any) => name),
  ].filter((name) => name !== undefined);
}

test("a schema that fails leaves none that refers to it", () => {
  const { refer, schemas } = createComponents("full");
  const of = (full: string, create: () => JsonObject) => refer({ full, short: full }, create);
  const fail = () => {
    of("Inner", () => ({ items: of("Outer", () => ({})) }));
    throw new Error("no schema");
  };
  expect(() => of("Outer", fail)).toThrow("no schema");
  expect(schemas).toEqual({});
});

/** A service whose request has a text and messages of these names, each of which has the same. */
function describeNested(names: readonly string[], rule: Rule) {
  const text = { label: Label.OPTIONAL, type: Type.STRING, name: "text", number: 1 };
  const own = { ...text, type: Type.MESSAGE };
  const inner = names.map((name, i) => ({ ...own, name, number: i + 2, typeName: `.${name}` }));
  const messageType = ["Root", ...names].map((name) => ({ name, field: [text, ...inner] }));
  const proto = { name: "a.proto", syntax: "proto3", messageType };
  const file = create(FileDescriptorProtoSchema, proto);
  const root = createFileRegistry(file, () => undefined).getMessage("Root") as DescMessage;
  return describeMethod(root, rule).parent;
}

test("parameters are of five names at most, and a thousand fields", () => {
  const rule = { pattern: { case: "get", value: "/a" } } as const;
  const { parameters } = operationOf(documentOf(describeNested([..."abcdefghi"], rule)), "Call");
  const depths = parameters.map(({ name }: Any) => name.split(".").length);
  expect([Math.max(...depths), depths.length < 1000]).toEqual([5, true]);
});

describe("names", () => {
  test("may be those of what every object has", () => {
    const names = ["constructor", "toString", "__proto__"];
    const rule = { pattern: { case: "post", value: "/a" }, body: "*" } as const;
    const { schemas } = documentOf(describeNested(names, rule)).components;
    for (const name of names) {
      const schema = Object.getOwnPropertyDescriptor(schemas, name)?.value;
      expect(schema).toMatchObject({ type: "object" });
      expect(schema).not.toHaveProperty("examples");
    }
  });

  test("are short", () => {
    const alone = documentOf(ItemsOfA);
    expect(alone.tags).toEqual([{ name: "ItemService" }]);
    expect(operationOf(alone, "GetItem").tags).toEqual(["ItemService"]);
    expect(Object.keys(alone.components.schemas)).toEqual(
      expect.arrayContaining(["Item", "ItemKind", "ItemServicePutItemBody"]),
    );
  });

  test("are the same whatever else the document has", () => {
    const services = [ItemsOfA, ShopService, LegacyService, BookService, OldService, NoteService];
    const all = namesIn(documentOf(services));
    for (const service of services) {
      expect(all).toEqual(expect.arrayContaining(namesIn(documentOf(service))));
    }
  });

  test("are two if a message is in requests and answers, also if only one of them is used", () => {
    const rules = { selector: "openapi.books.v1.BookService.AddBook" };
    const { schemas } = documentOf(BookService, { rest: { rules: [rules] } }).components;
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(["Book", "PrintPatch"]));
    expect(Object.keys(documentOf(OldService).components.schemas)).toEqual(
      expect.arrayContaining(["Old", "OldInput", "GetRequest", "GetRequestInput"]),
    );
  });

  test("that two packages have must be full", () => {
    expect(() => documentOf([ItemsOfA, ItemsOfB])).toThrow(
      'openapi.a.v1.ItemService_GetItem and openapi.b.v1.ItemService_GetItem are both ItemService_GetItem; set names: "full"',
    );
  });

  test("are full on request", () => {
    const both = documentOf([ItemsOfA, ItemsOfB], { names: "full" });
    expect(both.tags).toEqual(["a", "b"].map((one) => ({ name: `openapi.${one}.v1.ItemService` })));
    for (const one of ["a", "b"]) {
      const operation = operationOf(both, `openapi.${one}.v1.ItemService_GetItem`);
      expect(operation.tags).toEqual([`openapi.${one}.v1.ItemService`]);
      const { schema } = operation.responses["200"].content["application/json"];
      expect(schema.$ref).toBe(`#/components/schemas/openapi.${one}.v1.Item`);
      const names = both.components.schemas[`openapi.${one}.v1.Item.Kind-Name`];
      expect(names.enum).toContain(`KIND_OF_${one.toUpperCase()}`);
    }
  });

  test("are two if requests and answers differ", () => {
    const { schemas } = documentOf(ShopService).components;
    expect(schemas.ProductInput.additionalProperties).toBe(false);
    expect(schemas.Product).not.toHaveProperty("additionalProperties");
    expect(schemas).not.toHaveProperty("ListProductsResponseInput");
  });

  test("of additional bindings have a number", () => {
    const rule: Rule = {
      selector: "openapi.a.v1.ItemService.GetItem",
      pattern: { case: "get", value: "/v1/items/{id}" },
      additionalBindings: [{ pattern: { case: "get", value: "/v2/items/{id}" } }],
    };
    const { path } = operationOf(documentOf(ItemsOfA, { rest: { rules: [rule] } }), "GetItem2");
    expect(path).toBe("/v2/items/{id}");
  });
});

describe("fields", () => {
  const { components } = documentOf(compiledService("openapi.shop.v1.ShopService"));
  const { Product, ProductInput, CreateProductRequest } = components.schemas;

  test.each([
    [
      "name",
      { description: "`shops/SHOP/products/PRODUCT`. Immutable: it cannot be changed later." },
    ],
    ["title", { minLength: 1 }],
    ["createTime", { readOnly: true, $ref: "#/components/schemas/Timestamp" }],
    ["secret", { writeOnly: true }],
    ["cents", { $ref: "#/components/schemas/Int64Input" }], // Go's generator takes Int64 itself
    ["titles", { type: "object", additionalProperties: { type: "string" } }],
    ["sizes", { propertyNames: { pattern: "^(?:0|-?[1-9][0-9]{0,9})$" } }],
    ["thumbnail", { contentEncoding: "base64" }],
    ["parts", { items: { $ref: "#/components/schemas/ProductInput" } }],
  ])("%s of a request: %j", (name, expected) => {
    expect(ProductInput.properties[name]).toMatchObject(expected);
  });

  test("are required according to their behavior", () => {
    expect([ProductInput.required, Product.required]).toEqual([["title"], ["title"]]);
    expect(CreateProductRequest).toBeUndefined();
  });

  test("of a oneof are mutually exclusive", () => {
    const document = documentOf(ShopService);
    const allows = validatorOf(document, { $ref: "#/components/schemas/ProductInput" });
    for (const price of [{}, { cents: 1 }]) expect(allows({ title: "a", ...price })).toBe(true);
    expect(allows({ title: "a", cents: 1, words: "one" })).toBe(false);
  });

  test("have the defaults of proto2 and editions in words", () => {
    const { schemas } = documentOf(LegacyService).components;
    const told = JSON.stringify(schemas.Legacy).match(/(?<=Default: `)[^`]*/g);
    expect(told).toEqual(["7", "9007199254740993", "none", "AQI=", "COLOR_RED", "Infinity"]);
    expect(JSON.stringify(schemas)).not.toContain('"default"'); // clients would send it
    expect([schemas.Legacy.required, schemas.LegacyInput.required]).toEqual([["id"], ["id"]]);
  });

  test.each<[note: object, isAllowed: boolean]>([
    [{ text: "" }, true], // has presence
    [{ text: "a", likes: "1", colour: "COLOUR_YELLOW" }, true],
    [{ text: "a", colour: 7 }, true], // open
    [{ likes: 1 }, false],
    [{ text: "a", note: "b" }, false],
  ])("of edition 2024: %j is allowed: %s", (note, isAllowed) => {
    const document = documentOf(compiledService("openapi.modern.v1.NoteService"));
    expect(validatorOf(document, { $ref: "#/components/schemas/NoteInput" })(note)).toBe(isAllowed);
  });

  test("of a closed enum have no other numbers", () => {
    const allows = validatorOf(documentOf(LegacyService), { $ref: "#/components/schemas/Color" });
    expect(["COLOR_RED", 2, 3, "COLOR"].filter((value) => allows(value))).toEqual(["COLOR_RED", 2]);
    const values = [{ number: 1 }, { number: 1 }]; // under two names
    expect(enumNumbers({ open: false, values } as never)).toMatchObject({ enum: [1] });
  });
});

describe("comments", () => {
  test("become descriptions if a compiler has kept them", () => {
    const rule = { pattern: { case: "get", value: "/a" }, responseBody: "create_time" } as const;
    const rules = [{ ...rule, selector: "openapi.shop.v1.ShopService.GetProduct" }];
    const service = compiledService("openapi.shop.v1.ShopService");
    const document = documentOf(service, { rest: { rules } });
    expect(document.tags[0].description).toBe("ShopService sells products.");
    const { summary, description, responses } = operationOf(document, "GetProduct");
    expect(summary).toBe("GetProduct answers one product");
    expect(description).toBe("It is found by its name.");
    expect(responses["200"].description).toBe("When it came to the shop.");
    const { schema } = responses["200"].content["application/json"]; // generators need it bare
    expect(schema.anyOf).toEqual([{ $ref: "#/components/schemas/Timestamp" }, { type: "null" }]);
    const { Product, SizeName } = document.components.schemas;
    expect(Product.description).toBe("Product is for sale.");
    expect(Product.properties.cents.description).toBe("In cents.");
    expect(SizeName.description).toMatch(
      /^Size is how large a product is\.\n\n- `SIZE_UNSPECIFIED`: Not known\.\n/,
    );
  });

  test("are missing in generated code, and nothing replaces them", () => {
    const bare = documentOf(ShopService);
    expect(bare.tags).toEqual([{ name: "ShopService" }]);
    expect(operationOf(bare, "GetProduct")).toMatchObject({ summary: "Get product" });
    expect(bare.components.schemas.Product).not.toHaveProperty("description");
  });
});

test("deprecated elements are marked", () => {
  const document = documentOf(ShopService);
  expect(operationOf(document, "MoveProduct").deprecated).toBe(true);
  expect(operationOf(document, "GetProduct")).not.toHaveProperty("deprecated");
  expect(operationOf(documentOf(OldService), "Get").deprecated).toBe(true);
  expect(document.components.schemas.SizeName.description).toBe("- `SIZE_LARGE`: Deprecated.");
});

describe("options", () => {
  test("are optional", () => {
    const document = documentOf(ShopService);
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toEqual({ title: "openapi.shop.v1.ShopService", version: "0.0.0" });
    expect(document.security).toEqual([]);
    expect(document.components).not.toHaveProperty("securitySchemes");
    const { responses } = operationOf(document, "GetProduct");
    expect(responses.default).toEqual({ $ref: "#/components/responses/ErrorDefault" });
    const { schema } = document.components.responses.ErrorDefault.content["application/json"];
    expect(schema).toEqual({ $ref: "#/components/schemas/Status" });
    expect(document.components.schemas).toHaveProperty("AnyMessage"); // Python's models have Any
  });

  test("bearer and securitySchemes can be combined", () => {
    const key = { type: "apiKey", in: "header", name: "X-Key" };
    const document = documentOf(ShopService, {
      bearer: true,
      securitySchemes: { key },
      security: [{ bearer: [] }, { key: [] }],
    });
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: "http", scheme: "bearer" },
      key,
    });
    expect(document.security).toEqual([{ bearer: [] }, { key: [] }]);
    expect(documentOf(ShopService, { bearer: true }).security).toEqual([{ bearer: [] }]);
  });

  test("errors are added to every operation, with headers and examples", () => {
    const document = documentOf(ShopService, {
      error: ListProductsResponseSchema,
      errors: {
        "429": {
          description: "Too many.",
          headers: {
            "Retry-After": { schema: { type: "integer" } },
            "X-Why": { description: "Why." },
          },
          examples: { one: { products: [] } },
        },
        "404": { description: "Not there." },
      },
    });
    const { responses } = operationOf(document, "DeleteProduct");
    expect(Object.keys(responses)).toEqual(["200", "404", "429", "default"]);
    expect(responses["429"].$ref).toBe("#/components/responses/Error429");
    expect(document.components.responses.Error429).toEqual({
      description: "Too many.",
      headers: {
        "Retry-After": { schema: { type: "integer" } },
        "X-Why": { schema: { type: "string" }, description: "Why." },
      },
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/ListProductsResponse" },
          examples: { one: { value: { products: [] } } },
        },
      },
    });
  });

  test("examples are added to both forms of a message, and to bodies, without fields of the other side", () => {
    const product = { title: "Basil", cents: "5" };
    const [sent, answered] = [{ secret: "x" }, { createTime: "2024-01-01T00:00:00Z" }];
    const examples = { "openapi.shop.v1.Product": { ...product, ...sent, ...answered } };
    const document = documentOf(ShopService, { examples });
    const { Product, ProductInput } = document.components.schemas;
    const { requestBody, responses } = operationOf(document, "CreateProduct");
    const bodies = [requestBody, responses["200"]].map((one) => one.content["application/json"]);
    const told = [...bodies.map(({ example }) => example), Product.examples, ProductInput.examples];
    const whole = Object.values(examples);
    expect(told).toEqual([{ ...product, ...sent }, { ...product, ...answered }, whole, whole]);
  });

  test.each([
    ["no type", { examples: { "openapi.shop.v1.None": {} } }, /no message openapi\.shop\.v1\.None/],
    ["an error that is no status", { errors: { "4": { description: "" } } }, /"4" is not a status/],
    ["no such option", { prefix: "/api" } as object, /createOpenApiDocument.prefix is no option/],
  ])("%s is rejected", (_, options, message) => {
    expect(() => documentOf(ShopService, options)).toThrow(message);
  });
});
