import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip as stockGzip } from "@connectrpc/connect-node";
import { messageTooLarge } from "../codec/codec.ts";

const decompress = promisify(gunzip);

/** More is unpacked in pieces. Less takes no more memory than it has to: one byte tells of the end. */
const pieceBytesMax = 64 * 1024;

/**
 * The gzip of connect-node, except that a truncated body is reported as the sender's error. The
 * original reports an internal error, and takes 16 KiB for each message.
 */
export const compressionGzip: Compression = {
  ...stockGzip,
  async decompress(bytes, readMaxBytes) {
    if (bytes.length === 0) return new Uint8Array(0);
    const chunkSize = Math.max(64, Math.min(readMaxBytes + 1, pieceBytesMax));
    try {
      return await decompress(bytes, { maxOutputLength: readMaxBytes, chunkSize });
    } catch (error) {
      const isTooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
      if (isTooLarge) throw messageTooLarge(readMaxBytes, error);
      const message = "decompression failed";
      throw new ConnectError(message, Code.InvalidArgument, undefined, undefined, error);
    }
  },
};
