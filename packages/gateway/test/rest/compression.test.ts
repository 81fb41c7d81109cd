import zlib from "node:zlib";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { compressionGzip } from "../../src/index.ts";
import { askCatalog, get, json, openCatalog, openShelves, versions } from "../support/catalog.ts";
import { jsonOf, type TestGatewayOptions } from "../support/gateway.ts";

const unpackers: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  identity: (body) => body,
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
};

const own = { ...compressionGzip, name: "own" };

const varying =
  (title: string) =>
  (_: unknown, { responseHeader }: HandlerContext) => {
    responseHeader.set("vary", "x-shelf");
    return { title };
  };

describe.each(versions)("over HTTP/%s,", (version) => {
  describe("compression", () => {
    const large = "a".repeat(2000);
    const getLarge = get("/v1/shelves/x/volumes/1");
    const openLarge = (title: string) =>
      openShelves({ getVolume: varying(title) }, { compressMinBytes: 1000 });

    test.each<[accept: string, coding: string | null]>([
      ["gzip", "gzip"],
      ["br", "br"],
      ["gzip, deflate, br, zstd", "zstd"],
      ["identity", null],
      ["", null],
      ["gzip, deflate, br", "br"],
      ["ZSTD", "zstd"],
      ["gzip;q=1.0, br;q=0.8, zstd;q=0.1", "gzip"],
      ["gzip;q=0.5, br ; q=0.8", "br"],
      ["zstd;q=0, br;q=0.000, gzip;q=0.001", "gzip"],
      ["gzip;q=much", null],
      ["identity, gzip;q=0.5", null],
      ["identity;q=0.5, gzip", "gzip"],
      ["identity;q=0.5, gzip;q=0.5", "gzip"],
      ["identity;q=0", null],
      // A client that accepts anything has not said that it can decompress ours.
      ["*", null],
      [",;,=q", null],
    ])("Accept-Encoding %j: the answer is in %s", async (accept, coding) => {
      await using gateway = await openLarge(large);
      const headers = { "accept-encoding": accept };
      const response = await gateway.send({ version, ...getLarge, headers });
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(response.headers.get("vary")).toBe("x-shelf, accept-encoding");
      expect(response.headers.get("content-length")).toBe(String(response.body.length));
      const unpack = unpackers[coding ?? "identity"] ?? expect.unreachable();
      expect(jsonOf({ body: unpack(response.body) })).toEqual({ title: large });
    });

    test.each(["gzip", "identity"])("a GET of Connect varies, too: %s", async (accept) => {
      await using gateway = await openLarge(large);
      const path = "/library.v1.CatalogService/GetVolume?encoding=json&connect=v1&message={}";
      const headers = { "accept-encoding": accept };
      const response = await gateway.send({ version, ...get(path), headers });
      expect(response.headers.get("content-encoding") ?? "identity").toBe(accept);
      expect(response.headers.get("vary")).toBe("x-shelf, accept-encoding");
    });

    test.each<[type: string, coding: string | null]>([
      ["text/plain; charset=utf-8", "gzip"],
      ["application/json", "gzip"],
      ["application/vnd.api+json", "gzip"],
      ["application/xml", "gzip"],
      ["image/svg+xml", "gzip"],
      ["application/javascript", "gzip"],
      ["image/png", null],
      ["application/octet-stream", null],
      ["", null],
    ])("a body of type %j is in %s", async (contentType, coding) => {
      const headers = { "accept-encoding": "gzip" };
      const response = await askCatalog(
        { downloadVolume: () => ({ contentType, data: Buffer.from(large) }) },
        { version, ...get("/v1/shelves/x/volumes/1:download"), headers },
        { compressMinBytes: 1000 },
      );
      expect(response.headers.get("content-encoding")).toBe(coding);
      expect(response.headers.get("vary")).toBe(coding === null ? null : "accept-encoding");
    });

    test.each<[what: string, options: Partial<TestGatewayOptions>, coding: string | null]>([
      ["by none, if the router accepts none", { acceptCompression: [] }, null],
      ["by REST's own, if the router has less", { acceptCompression: [compressionGzip] }, "zstd"],
      ["by one of the router alone, too", { acceptCompression: [own] }, "own"],
    ])("a client that accepts all gets it %s", async (_what, options, coding) => {
      await using gateway = await openShelves({ getVolume: () => ({ title: large }) }, options);
      const headers = { "accept-encoding": coding === "own" ? "own" : "gzip, br, zstd" };
      const response = await gateway.send({ version, ...getLarge, headers });
      expect(response.headers.get("content-encoding")).toBe(coding);
    });

    test("what the implementation has compressed is not compressed again", async () => {
      const text = "a".repeat(100_000);
      await using gateway = await openShelves({
        downloadVolume(_request, { responseHeader }) {
          responseHeader.set("content-encoding", "gzip");
          return { contentType: "text/plain", data: zlib.gzipSync(text, { level: 0 }) };
        },
      });
      const headers = { "accept-encoding": "gzip, br" };
      const request = { version, ...get("/v1/shelves/x/volumes/1:download"), headers };
      const response = await gateway.send(request);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      expect(zlib.gunzipSync(response.body).toString()).toBe(text);
    });

    test("codings for answers need not be accepted in requests", async () => {
      await using gateway = await openCatalog({ acceptCompression: [compressionGzip] });
      const headers = { ...json, "content-encoding": "br" };
      const body = zlib.brotliCompressSync('{"id":"7"}');
      const request = { version, path: "/v1/shelves/c/volumes", headers, body };
      expect(await gateway.send(request)).toMatchObject({ status: 415 });
    });

    test.each([
      [1000 - '{"title":""}'.length, "gzip"],
      [999 - '{"title":""}'.length, null],
    ])("starts at compressMinBytes: a title of %s, in %s", async (length, coding) => {
      await using gateway = await openLarge("b".repeat(length));
      const headers = { "accept-encoding": "gzip" };
      const response = await gateway.send({ version, ...getLarge, headers });
      expect(response.headers.get("content-encoding")).toBe(coding);
    });

    const limit = 500;
    test.each<[what: string, body: Uint8Array, status: number]>([
      ["within the limit", zlib.gzipSync(`{"title":"${"a".repeat(400)}"}`), 200],
      ["above it once unpacked", zlib.gzipSync(`{"title":"${"a".repeat(600)}"}`), 413],
      ["cut short", zlib.gzipSync('{"title":"a"}').subarray(0, 20), 400],
      ["that is none", Buffer.from('{"title":"a"}'), 400],
    ])("a body in gzip %s: %s", async (_what, body, status) => {
      await using gateway = await openCatalog({ readMaxBytes: limit });
      const headers = { ...json, "content-encoding": "gzip" };
      const request = { version, path: "/v1/shelves/c/volumes", headers, body };
      expect(await gateway.send(request)).toMatchObject({ status });
    });
  });
});
