/** gen/openapi.json: the interface of the plant store, as HTTP clients read it. */
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";
import type { HttpRequest } from "../packages/gateway/test/support/exchange.ts";
import { postPlant } from "./support/plant-request.ts";
import { useTestServer } from "./support/use-test-server.ts";

const source = readFileSync("gen/openapi.json", "utf8");
const document = JSON.parse(source);

test("a linter finds nothing in it", async () => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
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
