import { deflateSync, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { compressionGzip } from "../../src/rpc/gzip.ts";

const text = "a text that is packed, ".repeat(10_000);

test.each([0, 1, 63, 64, 65, 64 * 1024, 64 * 1024 + 1, text.length])(
  "a message of %d bytes is packed, and unpacked where it may just be that large",
  async (length) => {
    const bytes = Buffer.from(text.slice(0, length));
    const packed = await compressionGzip.compress(bytes);
    const unpacked = await compressionGzip.decompress(packed, Math.max(1, length));
    expect(Buffer.from(unpacked).equals(bytes)).toBe(true);
    if (length < 2) return;
    await expect(compressionGzip.decompress(packed, length - 1)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: expect.stringContaining(`${length - 1} bytes`),
    });
  },
);

test.each([
  ["cut short", gzipSync(text).subarray(0, -1)],
  ["of another compression", deflateSync(text)],
  ["no compression at all", Buffer.from("text")],
])("what is %s is its sender's error", async (_what, bytes) => {
  await expect(compressionGzip.decompress(bytes, 1_000_000)).rejects.toMatchObject({
    code: Code.InvalidArgument,
    rawMessage: "decompression failed",
  });
});

test("nothing unpacks to nothing", async () => {
  expect(await compressionGzip.decompress(new Uint8Array(0), 10)).toHaveLength(0);
});
