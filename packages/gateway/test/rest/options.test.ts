import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { gatewayNodeAdapter } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { get, openCatalog, send, ulysses } from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";

test.each([
  ["GET", "/api/v1/shelves/a/volumes/1", 200],
  ["GET", "/api/v1/files", 200],
  ["GET", "/api/library.v1.CatalogService/GetVolume", 415],
  ["GET", "/v1/shelves/a/volumes/1", 404],
  ["GET", "/api", 404],
  ["GET", "/ape/v1/shelves/a/volumes/1", 404],
  ["PUT", "/api/v1/shelves/a/volumes/1", 405],
])("requestPathPrefix %s %s: %s", async (method, path, status) => {
  await using gateway = await openCatalog({ requestPathPrefix: "/api" });
  const response = await gateway.send({ method, path });
  expect(response.status).toBe(status);
  expect(response.headers.get("allow")?.includes("GET")).toBe(status === 405 || undefined);
});

const rule: MessageInitShape<typeof HttpRuleSchema> = {
  selector: "library.v1.CatalogService.GetVolume",
  pattern: { case: "get", value: "/books/{id}" },
  additionalBindings: [{ pattern: { case: "custom", value: { kind: "FIND", path: "/books" } } }],
};

describe.each([
  ["messages", create(HttpRuleSchema, rule)],
  ["plain objects", rule],
])("rules by selector, as %s", (_form, rule) => {
  test.each<[request: SentRequest, status: number]>([
    [{ method: "GET", path: "/books/3" }, 200],
    [{ method: "FIND", path: "/books?id=3" }, 501],
    [{ method: "GET", path: "/v1/volumes/3" }, 404],
    [{ method: "GET", path: "/v1/shelves/b/volumes/3" }, 405],
  ])("replace the method's annotation, and no other's: %o %s", async (request, status) => {
    await using gateway = await openCatalog({ rest: { rules: [rule] } });
    // Node's HTTP/1.1 does not support FIND; HTTP/2 accepts any method.
    const response = await gateway.send({ version: "2", ...request });
    expect(response.status).toBe(request.method === "FIND" ? 200 : status);
    if (response.status === 200 && !request.path.startsWith("/v1")) {
      expect(jsonOf(response)).toEqual(ulysses);
    }
  });
});

test.each([
  ["library.v1.CatalogService.GetVolumes", "library.v1.CatalogService.GetVolumes: "],
  ["", "a rule without a selector: "],
])("startup fails for a rule with the selector %j, which no method has", async (selector, what) => {
  const opened = openCatalog({ rest: { rules: [rule, { ...rule, selector }] } });
  await expect(opened).rejects.toThrow(`google.api.http of ${what}no method that is served`);
});

test("startup fails for a rule as in YAML, with its pattern as a key", async () => {
  const given = { selector: "library.v1.CatalogService.GetVolume", get: "/v2/{name}" };
  await expect(openCatalog({ rest: { rules: [given] } })).rejects.toThrow(
    'GetVolume: "get" is no member of a rule; write pattern: { case: "get", value: "…" }',
  );
});

test("ignoreUnknownFields ignores unknown members, but no parameters", async () => {
  await using gateway = await openCatalog({ rest: { ignoreUnknownFields: true } });
  const body = '{"id":"4","isbn":{"a":[1,1e400,null]}}';
  const response = await gateway.send(send("POST", "/v1/shelves/c/volumes", body));
  expect(jsonOf(response)).toEqual({ name: "shelves/c/volumes/4", id: "4" });
  expect(await gateway.send(get("/v1/shelves/a/volumes?x=1"))).toMatchObject({ status: 400 });
});

const ignoreQueryParameters = ["utm_*", "fbclid", "page*", "titles[*", "vol*"];
const volumes = "/v1/shelves/a/volumes";

test.each<[request: SentRequest, status: number]>([
  [get(`${volumes}?utm_source=a&utm_source=b&fbclid=%20`), 200],
  [get(`${volumes}?utm_source=%ff`), 400],
  // A parameter that matches a field is read, and must be valid.
  [get(`${volumes}?page_size=x`), 400],
  [get(`${volumes}?titles[0]=x`), 200],
  [send("POST", `${volumes}?volume=x`, { id: 4 }), 400],
  [send("POST", `${volumes}?vols=x`, { id: 4 }), 200],
])("ignoreQueryParameters ignores unknown parameters: %o %s", async (request, status) => {
  await using gateway = await openCatalog({ rest: { ignoreQueryParameters } });
  expect(await gateway.send(request)).toMatchObject({ status });
});

const any = { origins: ["*"] };

test.each<[options: object, message: string]>([
  [{ rest: { renderErrors: () => {} } }, "rest.renderErrors is no option; the options are"],
  [{ rest: { int64: "bigint" } }, "rest.int64 must be one of string, number: bigint"],
  [{ rest: [] }, "rest must be an object"],
  [{ rest: { toString: undefined } }, "rest.toString is no option"],
  [{ rest: { renderError: {} } }, "rest.renderError must be a function: [object Object]"],
  [{ rest: { ignoreQueryParameters: [1] } }, "ignoreQueryParameters must be a list of strings"],
  [{ rest: { ignoreQueryParameters: ["a", ""] } }, 'ignoreQueryParameters: "" must be a name, or'],
  [{ rest: { ignoreQueryParameters: ["*_id"] } }, '"*_id" must be a name, or a beginning and *'],
  [{ readMaxBytes: Number.NaN }, "readMaxBytes must be a positive number: NaN"],
  [{ readMaxValues: 0 }, "readMaxValues must be a positive number: 0"],
  [{ maxTimeoutMs: -1 }, "maxTimeoutMs must be a positive number: -1"],
  [{ compressMinBytes: -1 }, "compressMinBytes must be a number from 0: -1"],
  [{ interceptors: [null] }, "interceptors must be a list of functions: "],
  [{ acceptCompression: ["br"] }, "acceptCompression must be a list of objects: br"],
  [{ requestPathPrefix: "api" }, "requestPathPrefix must be like /api: "],
  [{ requestPathPrefix: "/api/" }, "requestPathPrefix must be like /api: "],
  [{ cors: { origin: ["*"] } }, "cors.origin is no option; the options are origins,"],
  [{ cors: {} }, "cors.origins is missing"],
  [{ cors: { ...any, maxAgeSeconds: -1 } }, "cors.maxAgeSeconds must be a number from 0"],
  [{ cors: { ...any, exposedHeaders: ["a b"] } }, "exposedHeaders must be names of headers: a b"],
])("an option that is wrong stops the start: %o", async (options, message) => {
  await expect(openCatalog(options)).rejects.toThrow(message);
});

test.each<[options: object, message: string]>([
  [{ readMaxValues: "9" }, "CatalogService.readMaxValues must be a positive number: 9"],
  [{ rest: {} }, "library.v1.CatalogService.rest is no option"],
])("an option of a service that is wrong stops the start: %o", (options, message) => {
  const routes = (router: ConnectRouter) => router.service(CatalogService, {}, options);
  expect(() => gatewayNodeAdapter({ routes })).toThrow(message);
});
