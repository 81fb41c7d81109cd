/** x-http-code: the status of one answer, by its implementation. */

import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  askCatalogOf,
  type Catalog,
  get,
  openCatalogOf,
  send,
  versions,
} from "../support/catalog.ts";
import { jsonOf, type SentRequest } from "../support/gateway.ts";

const location = { location: "/v1/shelves/b/volumes/1" };
const part = { "content-range": "bytes 0-1/10" };

/** Each kind of method with these headers. */
function catalogOf(headers: Record<string, string>, error?: ConnectError): Catalog {
  const set = ({ responseHeader }: { responseHeader: Headers }) => {
    for (const [name, value] of Object.entries(headers)) responseHeader.set(name, value);
    if (error !== undefined) throw error;
  };
  return {
    getVolume(_request, context) {
      set(context);
      return { title: "Dune" };
    },
    async importVolumes(requests, context) {
      for await (const _ of requests);
      set(context);
      return { count: 2n };
    },
    downloadVolume(_request, context) {
      set(context);
      return { contentType: "image/png", data: Buffer.from("01") };
    },
    async *streamVolume(_request, context) {
      set(context);
      yield { contentType: "image/png", data: Buffer.from("01") };
    },
  };
}

const volume = "/v1/shelves/a/volumes/1";
const calls: Readonly<Record<string, SentRequest>> = {
  unary: get(volume),
  "client stream": send("POST", "/v1/shelves/a/volumes:import", []),
  HttpBody: get(`${volume}:download`),
  "stream of HttpBody": get(`${volume}:stream`),
};

const callOf = (name: string) => calls[name] ?? expect.unreachable();

describe.each(versions)("over HTTP/%s:", (version) => {
  const rows = Object.keys(calls).flatMap((call) =>
    [
      ["202", {}],
      ["206", part],
      ["302", location],
      ["308", location],
    ].map(([status, headers]) => [call, status as string, headers as object] as const),
  );

  test.each(rows)("%s answers %s with %j", async (call, status, headers) => {
    const catalog = catalogOf({ "x-http-code": status, ...headers });
    const response = await askCatalogOf(catalog, { version, ...callOf(call) });
    expect(response.status).toBe(Number(status));
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(response.headers.has("x-http-code")).toBe(false);
    expect(response.body.length).toBeGreaterThan(0);
  });

  test("204 has no body", async () => {
    const catalog = catalogOf({ "x-http-code": "204" });
    const response = await askCatalogOf(catalog, { version, ...get(volume) });
    expect([response.status, response.body.length]).toEqual([204, 0]);
  });
});

test.each<[call: string, headers: Record<string, string>]>([
  ...["", "abc", "0xca", "2e2", "199", "226", "300", "304", "404", "500", "202, 202"].map(
    (status) => ["unary", { "x-http-code": status }] as [string, Record<string, string>],
  ),
  ["unary", { "x-http-code": "302" }], // without Location
  ["unary", { "x-http-code": "206" }], // without Content-Range
  ["stream of HttpBody", { "x-http-code": "204" }],
])("%s with %j is an internal error", async (call, headers) => {
  await using gateway = await openCatalogOf(catalogOf(headers), { mayFail: true });
  const response = await gateway.send(callOf(call));
  expect([response.status, jsonOf(response)]).toMatchObject([500, { message: "internal error" }]);
  expect(String(gateway.errors[0])).toContain("x-http-code");
});

test("RPC keeps the header, as metadata", async () => {
  const request = send("POST", "/library.v1.CatalogService/GetVolume", {});
  const response = await askCatalogOf(catalogOf({ "x-http-code": "202" }), request);
  expect([response.status, response.headers.get("x-http-code")]).toEqual([200, "202"]);
});

test("an error has its own status, and none of the headers about the body", async () => {
  const headers = { "x-http-code": "202", "content-encoding": "gzip", "x-mine": "1" };
  const error = new ConnectError("no", Code.NotFound);
  const response = await askCatalogOf(catalogOf(headers, error), get(volume));
  expect([response.status, jsonOf(response)]).toMatchObject([404, { message: "no" }]);
  expect(Object.fromEntries(response.headers)).toMatchObject({ "x-mine": "1" });
  for (const name of ["x-http-code", "content-encoding"]) {
    expect(response.headers.has(name), name).toBe(false);
  }
});

test("a redirect is not confused with a version: If-None-Match does not apply", async () => {
  const catalog = catalogOf({ "x-http-code": "302", ...location });
  const request = { ...get(volume), headers: { "if-none-match": "*" } };
  const response = await askCatalogOf(catalog, request, { rest: { etag: true } });
  expect(response.status).toBe(302);
});
