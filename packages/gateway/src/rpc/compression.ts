import { promisify } from "node:util";
import { brotliDecompress, gunzip, type ZlibOptions } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import * as stock from "@connectrpc/connect-node";
import { messageTooLarge } from "../codec/codec.ts";
import { growthMax } from "./unpack.ts";

/** With the option `info`, which the types do not know. */
type Decompress = (
  bytes: Uint8Array,
  options: ZlibOptions,
) => Promise<{
  readonly buffer: Buffer<ArrayBuffer>;
  readonly engine: { readonly bytesWritten: number };
}>;

/** More is unpacked in pieces, and those are copied together. */
const pieceBytesMax = 1024 * 1024;

/**
 * Those of connect-node, except that a truncated body, or other data after it, is the sender's
 * error. The originals report an internal error or none, and take 16 KiB for each message.
 */
export const compressionGzip = strict(stock.compressionGzip, gunzip);
export const compressionBrotli = strict(stock.compressionBrotli, brotliDecompress as typeof gunzip);

function strict(own: Compression, method: typeof gunzip): Compression {
  const decompress = promisify(method) as unknown as Decompress;
  async function unpack(bytes: Uint8Array, readMaxBytes: number) {
    if (bytes.length === 0) return new Uint8Array(0);
    // One byte more tells of the end.
    const bytesMax = 1 + Math.min(readMaxBytes, growthMax * bytes.length, pieceBytesMax);
    const chunkSize = Math.max(64, bytesMax);
    try {
      const options = { maxOutputLength: readMaxBytes, chunkSize, info: true };
      const { buffer, engine } = await decompress(bytes, options);
      // Node ignores what begins with a zero byte.
      if (engine.bytesWritten < bytes.length) throw new Error("other data follows");
      return buffer;
    } catch (error) {
      const isTooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
      if (isTooLarge) throw messageTooLarge(readMaxBytes, error);
      const message = "decompression failed";
      throw new ConnectError(message, Code.InvalidArgument, undefined, undefined, error);
    }
  }
  return { ...own, decompress: unpack };
}
