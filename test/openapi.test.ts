/** gen/openapi.json: the interface of the plant store, as HTTP clients read it. */
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";
import { exchange, type HttpRequest } from "../packages/gateway/test/support/http-exchange.ts";
import { knownToken } from "./support/test-server.ts";
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
  const { schemas, securitySchemes } = document.components;

  test("one operation, behind a bearer token", () => {
    expect(Object.keys(document.paths)).toEqual(["/plants"]);
    expect(Object.keys(document.paths["/plants"])).toEqual(["post"]);
    expect(document.security).toEqual([{ bearer: [] }]);
    expect(securitySchemes.bearer).toEqual({ type: "http", scheme: "bearer" });
    expect(document.info.version).toBe("1.0.0");
  });

  test("a NewPlant in JSON is required", () => {
    const { required, content } = operation.requestBody;
    expect(required).toBe(true);
    expect(Object.keys(content)).toEqual(["application/json"]);
    expect(content["application/json"].schema.$ref).toBe("#/components/schemas/NewPlant");
  });

  test("200 answers a Plant", () => {
    const { schema } = operation.responses["200"].content["application/json"];
    expect(schema.$ref).toBe("#/components/schemas/Plant");
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
    const response = document.components.responses[$ref.split("/").at(-1)];
    const { schema, examples } = response.content["application/json"];
    expect(schema.$ref).toBe("#/components/schemas/Error");
    expect(Object.keys(response.headers ?? {})).toEqual(headers);
    const bodies = Object.values<{ value: { error: number; message: string } }>(examples);
    expect(new Set(bodies.map(({ value }) => value.error))).toEqual(new Set(codes));
    for (const { value } of bodies) {
      expect(value).toEqual({ error: expect.any(Number), message: expect.stringMatching(/./) });
    }
  });

  test("no other status has a description of its own", () => {
    expect(Object.keys(operation.responses)).toEqual([
      ...["200", "400", "401", "408", "413", "415", "417", "429", "431", "500", "503", "504"],
      "default",
    ]);
  });

  const text = { type: "string", pattern: "^[^\\x00]*$" };
  test.each([
    [
      "NewPlant",
      ["id", "name"],
      { id: { $ref: "#/components/schemas/Int64" }, name: text, tag: text },
    ],
    ["Plant", ["name"], { name: { type: "string" }, tag: { type: "string" } }],
    ["Error", ["error", "message"], { error: { type: "integer" }, message: { type: "string" } }],
  ])("%s has its fields, and requires %j", (name, required, fields) => {
    const { properties, ...schema } = schemas[name];
    expect(schema).toMatchObject({ type: "object", required });
    expect(Object.keys(properties)).toEqual(Object.keys(fields));
    for (const [field, form] of Object.entries(fields)) {
      expect(properties[field]).toMatchObject(form);
      expect(properties[field].description).not.toBe("");
    }
  });

  test("an id is a number or its digits, up to the last of 64 bits", () => {
    const [number, text] = schemas.Int64.anyOf;
    const digits = schemas.Int64Text;
    expect(text.$ref).toBe("#/components/schemas/Int64Text");
    expect(number).toMatchObject({ type: "integer", format: "int64" });
    expect(digits).toMatchObject({ type: "string", format: "int64" });
    const pattern = new RegExp(digits.pattern);
    expect(
      ["0", "-1", "9223372036854775807", "-9223372036854775808"].every((id) => pattern.test(id)),
    ).toBe(true);
    expect(
      ["", "-0", "01", "+1", "1.0", "9223372036854775808"].some((id) => pattern.test(id)),
    ).toBe(false);
  });

  test("members that are not known are refused in a NewPlant, and may come in a Plant", () => {
    expect(schemas.NewPlant.additionalProperties).toBe(false);
    expect(schemas.Plant).not.toHaveProperty("additionalProperties");
  });

  test("Basil is the example", () => {
    expect(schemas.NewPlant.examples).toEqual([{ id: 1, name: "Basil", tag: "herb" }]);
    expect(schemas.Plant.examples).toEqual([{ name: "Basil", tag: "herb" }]);
  });
});

describe("the server answers what the examples say:", () => {
  const json = { "content-type": "application/json" };
  const headers = { ...json, authorization: `Bearer ${knownToken}` };
  const basil = JSON.stringify(document.components.schemas.NewPlant.examples[0]);
  const server = useTestServer();

  function create(request: Partial<HttpRequest>) {
    const { origin } = new URL(server.url);
    return exchange({ origin, version: "1.1", path: "/plants", headers, body: basil, ...request });
  }

  test("Basil", async () => {
    const { status, body } = await create({});
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toEqual(document.components.schemas.Plant.examples[0]);
  });

  test.each<[string, string, Partial<HttpRequest>]>([
    ["400", "fieldMissing", { body: '{"name": "Basil"}' }],
    ["400", "fieldUnknown", { body: '{"id": 1, "name": "Basil", "tga": "herb"}' }],
    ["400", "idTaken", { body: '{"id": 1, "name": "Mint"}' }],
    ["401", "tokenMissing", { headers: json }],
    ["401", "tokenUnknown", { headers: { ...json, authorization: "Bearer another" } }],
    ["413", "tooLarge", { body: " ".repeat(2 ** 20 + 1) }],
    ["415", "contentType", { headers: { ...headers, "content-type": "text/plain" } }],
    ["415", "contentEncoding", { headers: { ...headers, "content-encoding": "zstd" } }],
    ["417", "expectation", { headers: { ...headers, expect: "a miracle" } }],
    ["431", "tooLarge", { headers: { ...headers, "x-long": "a".repeat(20_000) } }],
    ["504", "late", { headers: { ...headers, "connect-timeout-ms": "0" } }],
  ])("%s %s", async (status, name, request) => {
    const { content, headers: named = {} } = document.components.responses[`Error${status}`];
    const answer = await create(request);
    expect(answer.status).toBe(Number(status));
    expect(JSON.parse(answer.body.toString())).toEqual(
      content["application/json"].examples[name].value,
    );
    const sent = Object.keys(named).filter((header) => answer.headers.has(header));
    expect(sent.length > 0).toBe(Object.keys(named).length > 0);
  });
});
