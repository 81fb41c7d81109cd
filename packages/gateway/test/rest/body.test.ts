import { brotliCompressSync, gzipSync } from "node:zlib";
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
    "application/json",
    "Application/JSON",
    "application/json;",
    "application/json;charset=utf-8",
    "application/json; charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; charset=utf-8",
    "application/json; Charset=utf-8",
    "application/json; profile=a",
    "application/json; profile=a; charset=utf-8",
    "application/json; charset = utf-8",
    'application/json; profile="a;charset=latin1"',
    'application/json; profile="\\";charset=latin1"; charset=utf-8',
  ])("%s is read", async (type) => {
    expect(await read({ header: { "content-type": type } })).toBe("{}");
  });

  test.each([
    "",
    "text/plain",
    "text/json",
    "application/*",
    "*/*",
    "json",
    "application/jsonx",
    "application/json-patch+json",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
    "application/grpc+json",
    "application/json, application/json",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    'application/json; charset="iso-8859-1"',
    "application/json; charset=",
    "application/json; charset =utf-16",
    "application/json; charset\t=\tutf-16",
    'application/json; profile="a"; charset=latin1',
    "application/json;;charset=latin1",
    "application/json; charset=utf-8; charset=latin1",
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
    ["IDENTITY", "{}"],
    ["gzip", gzipSync("{}")],
    ["GZip", gzipSync("{}")],
    ["br", brotliCompressSync("{}")],
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

describe("a body", () => {
  const tooLarge = {
    status: 413,
    code: Code.ResourceExhausted,
    message: "a message must not be larger than 10 bytes",
  };
  const readMaxBytes = 10;
  const gzip = { "content-encoding": "gzip" };

  const rows: readonly [what: string, body: Body, expected: string | object][] = [
    ["of the limit", { chunks: ["0123456789"] }, "0123456789"],
    ["of the limit, in pieces", { chunks: ["01234", "", "56789"] }, "0123456789"],
    [
      "of the limit, with its length",
      { header: { "content-length": "10" }, chunks: ["0123456789"] },
      "0123456789",
    ],
    ["of nothing", { chunks: [] }, ""],
    ["of one byte more", { chunks: ["01234", "567890"] }, { ...tooLarge, isTouched: true }],
    [
      "of one byte more, by its length",
      { header: { "content-length": "11" }, chunks: ["01234567890"] },
      { ...tooLarge, isTouched: false },
    ],
    [
      "of an absurd length",
      { header: { "content-length": "99999999999999999999" } },
      { ...tooLarge, isTouched: false },
    ],
  ];

  test.each(rows)("%s", async (_what, body, expected) => {
    const result = await read({ readMaxBytes, ...body });
    if (typeof expected === "string") expect(result).toBe(expected);
    else expect(result).toMatchObject(expected);
  });

  test("that is small, but not after decompression, is too large", async () => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    expect(await read({ header: gzip, chunks: [bomb], readMaxBytes: 5000 })).toMatchObject({
      status: 413,
      message: "a message must not be larger than 5000 bytes",
    });
  });

  test("of the maximum length after decompression is read, one byte more is not", async () => {
    const pack = (length: number) => [gzipSync("a".repeat(length))];
    const limit = { header: gzip, readMaxBytes: 5000 };
    expect(await read({ ...limit, chunks: pack(5000) })).toHaveLength(5000);
    expect(await read({ ...limit, chunks: pack(5001) })).toMatchObject({ status: 413 });
  });

  test("that fails in transit is not reported as too large", async () => {
    const failure = new Error("reset");
    const request = { ...createMemoryExchange(), readBody: () => Promise.reject(failure) };
    const limits = { readMaxBytes, acceptCompression: all };
    await expect(readBody(request, limits, (bytes) => bytes)).rejects.toBe(failure);
  });
});
