/** gen/openapi.json: the interface of the plant store, as HTTP clients read it. */
import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";

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

  test.each([
    ["200", "Plant"],
    ["400", "Error"],
  ])("%s answers a %s", (status, name) => {
    const { schema } = operation.responses[status].content["application/json"];
    expect(schema.$ref).toBe(`#/components/schemas/${name}`);
    expect(Object.keys(operation.responses)).toEqual(["200", "400"]);
  });

  const integerOrDigits = { type: ["integer", "string"], pattern: "^-?(0|[1-9][0-9]*)$" };
  test.each([
    [
      "NewPlant",
      ["id", "name"],
      { id: { ...integerOrDigits, format: "int64" }, name: "string", tag: "string" },
    ],
    ["Plant", ["name"], { name: "string", tag: "string" }],
    ["Error", ["error", "message"], { error: "integer", message: "string" }],
  ])("%s has its fields, and requires %j", (name, required, fields) => {
    const { properties, ...schema } = schemas[name];
    expect(schema).toMatchObject({ type: "object", required });
    expect(Object.keys(properties)).toEqual(Object.keys(fields));
    for (const [field, type] of Object.entries(fields)) {
      expect(properties[field]).toMatchObject(typeof type === "string" ? { type } : type);
      expect(properties[field].description).not.toBe("");
    }
  });
});
