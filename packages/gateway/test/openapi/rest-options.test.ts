/** Changes to a document by REST options. */
import { describe, expect, test } from "vitest";
import { type RestOptions, renderProblem } from "../../src/index.ts";
import { BookService } from "../gen/openapi/books/v1/books_pb.ts";
import { ShopService } from "../gen/openapi/shop/v1/shop_pb.ts";
import { describeMethod } from "../support/described-method.ts";
import { type Any, documentOf, operationOf, validatorOf } from "./document-of.ts";
import { messageWithChoice } from "./ruled-message.ts";

const shop = (rest: RestOptions = {}, id = "GetProduct") =>
  operationOf(documentOf(ShopService, { rest }), id);

describe("statuses:", () => {
  const selector = "openapi.shop.v1.ShopService.DeleteProduct";

  test.each([
    [200, true],
    [204, false],
    [205, false],
    [302, true],
  ])("%i has a body: %s", (status, hasBody) => {
    const { responses } = shop({ statuses: { [selector]: status } }, "DeleteProduct");
    expect(Object.keys(responses)).toEqual([String(status), "default"]);
    expect("content" in responses[status]).toBe(hasBody);
  });

  test.each([
    ["openapi.shop.v1.ShopService.Haggle", 201],
    [selector, 404],
  ])("%s: %i is rejected, as by the gateway", (name, status) => {
    expect(() => documentOf(ShopService, { rest: { statuses: { [name]: status } } })).toThrow(
      TypeError,
    );
  });
});

describe("fillUpdateMask:", () => {
  const queryOf = (operation: Any) => operation.parameters.find((one: Any) => one.in === "query");

  test.each([
    ["UpdateProduct", true, ["application/json", "application/merge-patch+json"], undefined],
    ["UpdateProduct", false, ["application/json"], true],
    ["CreateProduct", true, ["application/json"], undefined],
  ])("%s with %s accepts %j, and requires the mask: %s", (id, fillUpdateMask, types, required) => {
    const operation = shop({ fillUpdateMask }, id);
    expect(Object.keys(operation.requestBody.content)).toEqual(types);
    const name = id === "UpdateProduct" ? "updateMask" : "validateOnly";
    expect(queryOf(operation)).toMatchObject({ name });
    expect(queryOf(operation).required).toBe(required);
  });

  test("nothing is required in a PATCH, and null clears optional members", () => {
    const document = documentOf(ShopService);
    const { content } = operationOf(document, "UpdateProduct").requestBody;
    const allows = Object.values<Any>(content).map(({ schema }) => validatorOf(document, schema));
    const bodies = [{}, { secret: "a" }, { secret: null }, { title: null }, { none: null }];
    expect(bodies.map((body) => allows.map((one) => one(body)))).toEqual([
      [true, true],
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ]);
  });

  test.each<[id: string, body: object, isAllowed: boolean]>([
    // The body is the book.
    ["UpdateBook", { title: "Emma" }, true],
    ["UpdateBook", { print: { copies: 1 } }, true],
    ["UpdateBook", { author: null }, false], // required, if a mask names it
    ["UpdateBook", { printsByCountry: { de: { copies: 1 } } }, false], // replaced as a whole
    // The body is the request, with the mask in it.
    ["UpdateBook2", { book: { print: { copies: 1 } }, updateMask: "print.copies" }, true],
    ["UpdateBook2", { updateMask: "title" }, false],
    // No mask.
    ["AddBook", { title: "Emma" }, false],
    ["AddBook", { author: "Austen", print: { copies: 1 } }, false],
  ])("%s with %j: %s", (id, body, isAllowed) => {
    const document = documentOf(BookService);
    const { schema } = operationOf(document, id).requestBody.content["application/json"];
    expect(validatorOf(document, schema)(body)).toBe(isAllowed);
  });

  test("the document shows the mask, and how it is filled", () => {
    const { parameters } = operationOf(documentOf(BookService), "UpdateBook");
    const mask = parameters.find(({ name }: Any) => name === "updateMask");
    expect(mask.description).toMatch(/not zero, or null, are changed/);
    expect(mask).not.toHaveProperty("required");
  });
});

const isTold = ({ parameters = [], responses }: Any) => [
  parameters.some((one: Any) => one.name === "If-None-Match" && one.in === "header"),
  "304" in responses && !("content" in responses["304"]),
  "ETag" in (responses["200"].headers ?? {}),
];

test.each([
  ["GetProduct", true, [true, true, true]],
  ["GetPicture", true, [true, true, true]],
  ["GetProduct", false, [false, false, false]],
  ["CreateProduct", true, [false, false, false]],
  ["WatchProducts", true, [false, false, false]],
])("etag: %s with %s", (id, etag, expected) => {
  expect(isTold(shop({ etag }, id))).toEqual(expected);
});

test("renderProblem is described without further options", () => {
  const document = documentOf(ShopService, {
    rest: { renderError: renderProblem },
    errors: { "404": { description: "None." } },
  });
  const { responses } = operationOf(document, "GetProduct");
  expect(responses["404"].$ref).toBe("#/components/responses/Problem404");
  const { content } = document.components.responses.Problem404;
  expect(Object.keys(content)).toEqual(["application/problem+json"]);
  const allows = validatorOf(document, content["application/problem+json"].schema);
  const problem = { type: "about:blank", title: "Not Found", status: 404, code: 5, details: [] };
  expect([problem, { ...problem, status: "404" }].map((one) => allows(one))).toEqual([true, false]);
});

test.each([
  ["/v1/choice", true],
  ["/v1/choice/{a}", false],
])("whether the body has to choose at %s: %s", (path, isRequired) => {
  const rule = { pattern: { case: "post", value: path }, body: "*" } as const;
  for (const isVirtual of [false, true]) {
    const document = documentOf(describeMethod(messageWithChoice(isVirtual), rule).parent);
    const { required, content } = operationOf(document, "Call").requestBody;
    const allows = validatorOf(document, content["application/json"].schema);
    expect([required, allows({})]).toEqual([isRequired, !isRequired]);
  }
});

test("textPattern applies to every text of a request", () => {
  const textPattern = "^[^\\x00]*$";
  const { schemas } = documentOf(ShopService, { textPattern }).components;
  expect(schemas.ProductInput.properties.title).toMatchObject({ pattern: textPattern });
  expect(schemas.ProductInput.properties.titles).toMatchObject({
    additionalProperties: { pattern: textPattern },
  });
  expect(schemas.Product.properties.title).not.toHaveProperty("pattern");
  const bare = documentOf(ShopService).components.schemas;
  expect(bare.ProductInput.properties.title).not.toHaveProperty("pattern");
});
