/** gen/openapi.json: the interface of the plant store, as HTTP clients read it. */
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";
import type { HttpRequest } from "../packages/gateway/test/support/http-exchange.ts";
import { postPlant } from "./support/plant-request.ts";
import { useTestServer } from "./support/use-test-server.ts";

const source = readFileSync("gen/openapi.json", "utf8");
const document = JSON.parse(source);

test("a linter finds nothing in it", async () => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
});

describe("describes the interface:", () => {
  const operation = document.paths["/plants"].post;
  const { schemas, responses } = document.components;
  const schemaOf = (name: string) => ({
    "application/json": { schema: { $ref: `#/components/schemas/${name}` } },
  });

  test("one operation, behind a bearer token, that takes a NewPlant and answers a Plant", () => {
    expect(Object.keys(document.paths)).toEqual(["/plants"]);
    expect(Object.keys(document.paths["/plants"])).toEqual(["post"]);
    expect(document.security).toEqual([{ bearer: [] }]);
    const bearer = { type: "http", scheme: "bearer" };
    expect(document.components.securitySchemes.bearer).toEqual(bearer);
    expect(document.info.version).toBe("1.0.0");
    expect(operation.requestBody).toMatchObject({ required: true, content: schemaOf("NewPlant") });
    expect(Object.keys(operation.requestBody.content)).toHaveLength(1);
    expect(operation.responses["200"].content).toMatchObject(schemaOf("Plant"));
    expect(Object.keys(operation.responses)).toEqual([
      ...["200", "400", "401", "408", "413", "415", "417", "429", "431", "500", "503", "504"],
      "default",
    ]);
  });

  test.each([
    ["400", [3, 6], []],
    ["401", [16], ["WWW-Authenticate"]],
    ["408", [4], []],
    ["413", [8], []],
    ["415", [3], ["Accept", "Accept-Encoding"]],
    ["417", [3], []],
    ["429", [8], ["Retry-After", "RateLimit-Policy", "RateLimit"]],
    ["431", [8], []],
    ["500", [13], []],
    ["503", [14], ["Retry-After"]],
    ["504", [4], []],
  ])("%s answers an Error with the codes %j and the headers %j", (status, codes, headers) => {
    const { $ref } = operation.responses[status];
    const response = responses[$ref.split("/").at(-1)];
    expect(response.content).toMatchObject(schemaOf("Error"));
    expect(Object.keys(response.headers ?? {})).toEqual(headers);
    const { examples } = response.content["application/json"];
    const bodies = Object.values<{ value: { error: number; message: string } }>(examples);
    expect(new Set(bodies.map(({ value }) => value.error))).toEqual(new Set(codes));
    for (const { value } of bodies) {
      expect(value).toEqual({ error: expect.any(Number), message: expect.stringMatching(/./) });
    }
  });

  const text = { type: "string", pattern: "^[^\\x00]*$" };
  const id = { $ref: "#/components/schemas/Int64" };
  test.each([
    ["NewPlant", ["id", "name"], { id, name: text, tag: text }],
    ["Plant", ["name"], { name: { type: "string" }, tag: { type: "string" } }],
    ["Error", ["error", "message"], { error: { type: "integer" }, message: { type: "string" } }],
  ])("%s has its fields, and requires %j", (name, required, fields) => {
    const { properties, ...schema } = schemas[name];
    expect(schema).toMatchObject({ type: "object", required });
    expect(Object.keys(properties)).toEqual(Object.keys(fields));
    expect(properties).toMatchObject(fields);
    for (const field of Object.keys(fields)) expect(properties[field].description).toMatch(/./);
  });

  test("an id is a number or its digits", () => {
    const [number, digits] = schemas.Int64.anyOf;
    expect(number).toMatchObject({ type: "integer", format: "int64" });
    expect(digits.$ref).toBe("#/components/schemas/Int64Text");
    expect(schemas.Int64Text).toMatchObject({ type: "string", format: "int64" });
    const pattern = new RegExp(schemas.Int64Text.pattern);
    for (const one of ["0", "-1", "9223372036854775807", "-9223372036854775808"]) {
      expect(one).toMatch(pattern);
    }
    for (const one of ["", "-0", "01", "+1", "1.0", "92233720368547758070"]) {
      expect(one).not.toMatch(pattern);
    }
  });

  test("members that are not known are refused in a NewPlant, and may come in a Plant", () => {
    expect(schemas.NewPlant.additionalProperties).toBe(false);
    expect(schemas.Plant).not.toHaveProperty("additionalProperties");
    expect(schemas.NewPlant.examples).toEqual([{ id: 1, name: "Basil", tag: "herb" }]);
    expect(schemas.Plant.examples).toEqual([{ name: "Basil", tag: "herb" }]);
  });
});

describe("the server answers what the examples say:", () => {
  const basil = JSON.stringify(document.components.schemas.NewPlant.examples[0]);
  const server = useTestServer();

  test("Basil", async () => {
    const { status, body } = await postPlant(server.url, { body: basil });
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toEqual(document.components.schemas.Plant.examples[0]);
  });

  test.each<[string, string, Partial<HttpRequest>]>([
    ["400", "fieldMissing", { body: '{"name": "Basil"}' }],
    ["400", "fieldUnknown", { body: '{"id": 1, "name": "Basil", "tga": "herb"}' }],
    ["400", "idTaken", { body: '{"id": 1, "name": "Mint"}' }],
    ["401", "tokenMissing", { headers: { authorization: "" } }],
    ["401", "tokenUnknown", { headers: { authorization: "Bearer another" } }],
    ["413", "tooLarge", { body: " ".repeat(2 ** 20 + 1) }],
    ["415", "contentType", { headers: { "content-type": "text/plain" } }],
    ["415", "contentEncoding", { headers: { "content-encoding": "zstd" } }],
    ["417", "expectation", { headers: { expect: "a miracle" } }],
    ["431", "tooLarge", { headers: { "x-long": "a".repeat(20_000) } }],
    ["504", "late", { headers: { "connect-timeout-ms": "0" } }],
  ])("%s %s", async (status, name, request) => {
    const { content, headers: named = {} } = document.components.responses[`Error${status}`];
    const answer = await postPlant(server.url, { body: basil, ...request });
    expect(answer.status).toBe(Number(status));
    const example = content["application/json"].examples[name].value;
    expect(JSON.parse(answer.body.toString())).toEqual(example);
    const sent = Object.keys(named).filter((header) => answer.headers.has(header));
    expect(sent.length > 0).toBe(Object.keys(named).length > 0);
  });
});
