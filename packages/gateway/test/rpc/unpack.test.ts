import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { expect, test } from "vitest";
import type { Holding } from "../../src/http/body-budget.ts";
import { compressionBrotli, compressionGzip } from "../../src/rpc/compression.ts";
import { unpack } from "../../src/rpc/unpack.ts";

const readMaxBytes = 10_000;

/** A compression of bytes that become so many. It records the room that it was given. */
function compressionOf(name: string, size: number) {
  const room: number[] = [];
  const compression: Compression = {
    name,
    compress: () => expect.unreachable(),
    async decompress(_bytes, bytesMax) {
      room.push(bytesMax);
      if (size > bytesMax) throw new ConnectError("its own words", Code.ResourceExhausted);
      return new Uint8Array(size);
    },
  };
  return { room, compression };
}

/** Bytes of gzip that say how large they become. They begin within a larger buffer. */
function saying(size: number, length = 40): Uint8Array {
  const bytes = Buffer.alloc(length + 8);
  bytes.writeUInt32LE(size, length + 4);
  return bytes.subarray(8);
}

test.each<[what: string, name: string, bytes: Uint8Array, size: number, room: readonly number[]]>([
  ["what gzip says", "gzip", gzipSync(Buffer.alloc(500)), 500, [500]],
  ["one byte for nothing", "gzip", saying(0), 0, [1]],
  ["eight times as much where gzip says less", "gzip", saying(10), 200, [10, 80, 640]],
  ["no more than the limit", "gzip", saying(20_000), 10_000, [10_000]],
  ["no more than deflate can make", "gzip", saying(9000, 4), 7, [4128]],
  ["twenty times as much where gzip says nothing", "gzip", Buffer.alloc(3), 7, [60]],
  ["twenty times as much for another compression", "br", saying(5), 801, [800, 6400]],
])("a message gets room for %s", async (_what, name, bytes, size, expected) => {
  const { room, compression } = compressionOf(name, size);
  const held: number[] = [];
  const holding = {
    make(bytesMax: number, work: () => Promise<Uint8Array>) {
      held.push(bytesMax);
      return work();
    },
  } as unknown as Holding;
  expect(await unpack(bytes, compression, readMaxBytes)).toHaveLength(size);
  expect(room).toEqual(expected);
  await unpack(bytes, compression, readMaxBytes, holding);
  expect(held).toEqual(expected);
});

test("a message above the limit is refused, in our words", async () => {
  const { room, compression } = compressionOf("gzip", readMaxBytes + 1);
  await expect(unpack(saying(readMaxBytes + 1), compression, readMaxBytes)).rejects.toMatchObject({
    code: Code.ResourceExhausted,
    rawMessage: expect.stringContaining("10000 bytes"),
  });
  expect(room).toEqual([readMaxBytes]);
});

test("a compression that knows no limit is held to it", async () => {
  const decompress = async () => new Uint8Array(readMaxBytes + 1);
  const refused = unpack(saying(10), { name: "gzip", decompress } as never, readMaxBytes);
  await expect(refused).rejects.toMatchObject({ code: Code.ResourceExhausted });
});

const text = "a text that is packed, ".repeat(10_000);

test.each([0, 1, 64, 65, 64 * 1024 + 1, text.length])(
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

const packed = brotliCompressSync(text);

test.each([
  ["Brotli that is cut short", packed.subarray(0, -1), compressionBrotli],
  ["Brotli with other data behind", Buffer.concat([packed, Buffer.from("a")]), compressionBrotli],
  ["cut short", gzipSync(text).subarray(0, -1)],
  ["followed by zeros and other data", Buffer.concat([gzipSync(text), Buffer.from("\0a")])],
  ["of another compression", deflateSync(text)],
  ["no compression at all", Buffer.from("text")],
])("what is %s is its sender's error", async (_what, bytes, { decompress } = compressionGzip) => {
  const error = { code: Code.InvalidArgument, rawMessage: "decompression failed" };
  await expect(decompress(bytes, 1_000_000)).rejects.toMatchObject(error);
});
