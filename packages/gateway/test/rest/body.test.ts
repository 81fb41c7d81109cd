/** What a request says of its body: its media type, and its coding. */
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { compressionGzip } from "../../src/index.ts";
import { askCatalog, json } from "../support/catalog.ts";
import { jsonOf } from "../support/gateway.ts";

async function send(headers: Record<string, string>, body: string | Uint8Array = "{}") {
  const options = { acceptCompression: [compressionGzip] };
  const request = { path: "/v1/shelves/a/volumes", headers, body };
  return await askCatalog({ createVolume: () => ({ title: "a" }) }, request, options);
}

describe("Content-Type", () => {
  test.each([
    ...["application/json", "Application/JSON", "application/json;charset=utf-8"],
    ...['application/json; charset="utf-8"', "application/json; Charset=utf-8"],
    ...["application/json; profile=a; charset=utf-8", "application/json; charset = utf-8"],
    ...['application/json; profile="a;charset=latin1"'],
    ...['application/json; profile="\\";charset=latin1"; charset=utf-8'],
  ])("%s is read", async (type) => {
    expect(await send({ "content-type": type })).toMatchObject({ status: 200 });
  });

  test.each([
    ...["", "text/plain", "*/*", "application/jsonx", "application/grpc+json"],
    ...["application/json, application/json", "application/json; charset=latin1"],
    ...['application/json; charset="iso-8859-1"', "application/json; charset="],
    ...["application/json; charset\t=\tutf-16", 'application/json; profile="a"; charset=latin1'],
    ...["application/json;;charset=latin1", "application/json; charset=utf-8; charset=latin1"],
  ])("%j is rejected", async (type) => {
    const response = await send({ "content-type": type });
    expect([response.status, response.headers.get("accept")]).toEqual([415, "application/json"]);
    const message = "Content-Type must be application/json, in UTF-8";
    expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument, message });
  });
});

describe("Content-Encoding", () => {
  test.each<[coding: string, body: string | Uint8Array]>([
    ["identity", "{}"],
    ["", "{}"],
    ["GZip", gzipSync("{}")],
  ])("%s is read", async (coding, body) => {
    const { status } = await send({ ...json, "content-encoding": coding }, body);
    expect(status).toBe(200);
  });

  test.each(["deflate", "zstd", "compress", "gzip, gzip", "gzip;q=1", "*", "br"])(
    "%s is rejected, and the answer lists those that are accepted",
    async (coding) => {
      const response = await send({ ...json, "content-encoding": coding });
      expect(response.status).toBe(415);
      expect(response.headers.get("accept-encoding")).toBe("identity, gzip");
      const message = `unknown compression "${coding}": supported encodings are gzip`;
      expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument, message });
    },
  );
});
