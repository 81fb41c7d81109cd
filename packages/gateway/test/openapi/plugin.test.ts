/** The protoc plugin: a request in, a response out. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  Edition,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { runPlugin } from "../../src/openapi/plugin/plugin.ts";
import { compiledProtos, compiledService } from "./compiled.ts";
import { operationOf } from "./document-of.ts";

const shop = "openapi/shop/v1/shop.proto";

function request(parameter: string, fileToGenerate: readonly string[] = [shop]): Uint8Array {
  const protoFile = [...compiledProtos().files].map(({ proto }) => proto);
  const message = { parameter, fileToGenerate: [...fileToGenerate], protoFile };
  return toBinary(CodeGeneratorRequestSchema, create(CodeGeneratorRequestSchema, message));
}

function run(parameter: string, files: Record<string, object> = {}, protos?: readonly string[]) {
  const readText = (path: string) => {
    const file = files[path];
    if (file === undefined) throw new Error(`no file ${path}`);
    return JSON.stringify(file);
  };
  return fromBinary(CodeGeneratorResponseSchema, runPlugin(request(parameter, protos), readText));
}

function documentOf(...parameters: Parameters<typeof run>) {
  const { error, file } = run(...parameters);
  expect(error).toBe("");
  expect(file.map(({ name }) => name)).toEqual(["openapi.json"]);
  return JSON.parse(file[0]?.content ?? "");
}

test("writes a document with comments, also for editions", () => {
  const response = run("");
  const { PROTO3_OPTIONAL, SUPPORTS_EDITIONS } = CodeGeneratorResponse_Feature;
  expect(response.supportedFeatures).toBe(BigInt(PROTO3_OPTIONAL | SUPPORTS_EDITIONS));
  expect(response.maximumEdition).toBeGreaterThanOrEqual(Edition.EDITION_2024);
  expect(operationOf(documentOf(""), "GetProduct").summary).toBe("GetProduct answers one product");
});

test("accepts text and booleans as key=value", () => {
  const document = documentOf(
    "title=A = B,version=2.0.0,license=MIT,openapi=3.2,bearer,int64=number,ignoreUnknownFields=true,etag=false,error=openapi.shop.v1.Filter",
  );
  expect(document.openapi).toBe("3.2.0");
  expect(document.info).toEqual({
    title: "A = B",
    version: "2.0.0",
    license: { name: "MIT", identifier: "MIT" },
  });
  expect(document.security).toEqual([{ bearer: [] }]);
  const { Product, ProductInput } = document.components.schemas;
  expect(Product.properties.cents.type).toBe("integer");
  expect(ProductInput).not.toHaveProperty("additionalProperties");
  const { schema } = document.components.responses.ErrorDefault.content["application/json"];
  expect(schema.$ref).toBe("#/components/schemas/FilterOutput");
});

test("accepts all options in a file; the parameter takes precedence", () => {
  const rules = [{ selector: "openapi.shop.v1.ShopService.GetProduct", get: "/v9/{name=shops/*}" }];
  const config = {
    ...{ title: "A", version: "3", errors: { "404": { description: "None." } }, rules },
    statuses: { "openapi.shop.v1.ShopService.CreateProduct": 201 },
    ...{ etag: true, renderError: "problem" },
  };
  const document = documentOf("config=a/b.json,title=B", { "a/b.json": config });
  expect(document.info).toMatchObject({ title: "B", version: "3" });
  expect(document.components.responses.Problem404.description).toBe("None.");
  expect(operationOf(document, "CreateProduct").responses).toHaveProperty("201");
  const { path, responses } = operationOf(document, "GetProduct");
  expect([path, "304" in responses]).toEqual(["/v9/shops/{shop}", true]);
});

test("writes nothing for files without a rule, in them or in the options", () => {
  const print = { selector: "library.v1.LabelService.PrintLabel", post: "/x" };
  const label = documentOf("config=a", { a: { rules: [print] } }, ["library/v1/label.proto"]);
  expect(label.paths).toHaveProperty("/x");
  const { error, file } = run("error=openapi.shop.v1.None", {}, ["google/api/http.proto"]);
  expect({ error, file }).toEqual({ error: "", file: [] });
  const { typeName, methods } = compiledService("library.v1.FieldService");
  const rules = methods.map(({ name, methodKind }) => {
    const selector = `${typeName}.${name}`;
    return methodKind === "bidi_streaming" ? { selector, post: "/x" } : { selector };
  });
  expect(run("config=a", { a: { rules } }, ["library/v1/fields.proto"]).file).toEqual([]);
});

describe("reports to the compiler", () => {
  test.each<[parameter: string, config: object, message: RegExp]>([
    ["titel=A", {}, /options\.titel is no option; the options are config, title, /],
    ["bearer=yes", {}, /options\.bearer must be a boolean: yes/],
    ["error=a.B", {}, /no message a\.B/],
    ["config=a.json", [], /a\.json must hold a JSON object/],
    ["config=a.json", { __proto: 1 }, /options\.__proto is no option/],
    ["config=a.json", { rules: [{ selector: "a.B.C", get: "/" }] }, /no method that is served/],
  ])("%s, %j", (parameter, config, message) => {
    const { error, file } = run(parameter, { "a.json": config });
    expect(error).toMatch(message);
    expect(file).toEqual([]);
  });

  test("an invalid request", () => {
    const response = runPlugin(new Uint8Array([255]), () => "");
    expect(fromBinary(CodeGeneratorResponseSchema, response).error).not.toBe("");
  });
});

test("is a program", () => {
  const path = join(import.meta.dirname, "../../src/openapi/plugin/protoc-gen-openapi.ts");
  const output = execFileSync(process.execPath, [path], { input: request("title=A") });
  const { error, file } = fromBinary(CodeGeneratorResponseSchema, output);
  expect(error).toBe("");
  expect(JSON.parse(file[0]?.content ?? "").info.title).toBe("A");
});
