import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { compressionBrotli } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { RestFailure, restErrorFrom } from "../../src/errors/http-error.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { assertMediaType, readBody } from "../../src/rest/request/request.ts";
import { compressionGzip } from "../../src/rpc/gzip.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

interface Body {
  readonly header?: Record<string, string>;
  readonly chunks?: readonly (string | Uint8Array)[];
  readonly readMaxBytes?: number;
}

const all = [compressionGzip, compressionBrotli];

/** Reads a body. Returns the text, or the status, code and message that reject it. */
async function read({ header = {}, chunks = ["{}"], readMaxBytes = 1000 }: Body, codings = all) {
  let isTouched = false;
  const headers = { "content-type": "application/json", ...header };
  const body = chunks.map((chunk) => Buffer.from(chunk as Uint8Array));
  const exchange = createMemoryExchange({ headers, body });
  const request: Exchange = {
    ...exchange,
    readBody(sink) {
      isTouched = true;
      return exchange.readBody(sink);
    },
  };
  try {
    assertMediaType(request, ["application/json"]);
    const limits = { readMaxBytes, acceptCompression: codings };
    return await readBody(request, limits, (bytes) => Buffer.from(bytes).toString());
  } catch (reason) {
    const { status, error } = restErrorFrom(reason);
    const { code, rawMessage: message } = error;
    const header = reason instanceof RestFailure ? reason.header : {};
    return { status, code, message, header, isTouched };
  }
}

describe("Content-Type", () => {
  test.each([
    ...["application/json", "Application/JSON", "application/json;charset=utf-8"],
    ...['application/json; charset="utf-8"', "application/json; Charset=utf-8"],
    ...["application/json; profile=a; charset=utf-8", "application/json; charset = utf-8"],
    ...['application/json; profile="a;charset=latin1"'],
    ...['application/json; profile="\\";charset=latin1"; charset=utf-8'],
  ])("%s is read", async (type) => {
    expect(await read({ header: { "content-type": type } })).toBe("{}");
  });

  test.each([
    ...["", "text/plain", "*/*", "application/jsonx", "application/grpc+json"],
    ...["application/json, application/json", "application/json; charset=latin1"],
    ...['application/json; charset="iso-8859-1"', "application/json; charset="],
    ...["application/json; charset\t=\tutf-16", 'application/json; profile="a"; charset=latin1'],
    ...["application/json;;charset=latin1", "application/json; charset=utf-8; charset=latin1"],
  ])("%j is rejected before the body is read", async (type) => {
    expect(await read({ header: { "content-type": type } })).toEqual({
      status: 415,
      code: Code.InvalidArgument,
      message: "Content-Type must be application/json, in UTF-8",
      header: { accept: "application/json" },
      isTouched: false,
    });
  });
});

describe("Content-Encoding", () => {
  test.each<[coding: string, bytes: string | Uint8Array]>([
    ["identity", "{}"],
    ["GZip", gzipSync("{}")],
  ])("%s is read", async (coding, bytes) => {
    expect(await read({ header: { "content-encoding": coding }, chunks: [bytes] })).toBe("{}");
  });

  test.each(["deflate", "zstd", "compress", "gzip, gzip", "gzip;q=1", "*", "br"])(
    "%s is rejected, and the answer lists those that are accepted",
    async (coding) => {
      const header = { "content-encoding": coding };
      expect(await read({ header }, [compressionGzip])).toEqual({
        status: 415,
        code: Code.InvalidArgument,
        message: `unknown compression "${coding}": supported encodings are gzip`,
        header: { "accept-encoding": "identity, gzip" },
        isTouched: false,
      });
    },
  );

  test("empty gzip is an empty body", async () => {
    expect(await read({ header: { "content-encoding": "gzip" }, chunks: [] })).toBe("");
  });
});

test("a body of the maximum length after decompression is read, one byte more is not", async () => {
  const header = { "content-encoding": "gzip" };
  const readPacked = (length: number) =>
    read({ header, readMaxBytes: 5000, chunks: [gzipSync("a".repeat(length))] });
  expect(await readPacked(5000)).toHaveLength(5000);
  expect(await readPacked(5001)).toMatchObject({ status: 413 });
});
