import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip as stockGzip } from "@connectrpc/connect-node";

/**
 * The gzip of connect-node, except that a truncated body is reported as the sender's error. The
 * original reports an internal error.
 */
export const compressionGzip: Compression = {
  ...stockGzip,
  async decompress(bytes, readMaxBytes) {
    try {
      return await stockGzip.decompress(bytes, readMaxBytes);
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.Internal) {
        throw new ConnectError(error.rawMessage, Code.InvalidArgument, undefined, undefined, error);
      }
      throw error;
    }
  },
};
