import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { messageTooLarge } from "../codec/codec.ts";
import { byteLengthOf } from "../http/body.ts";
import type { Holding } from "../http/body-budget.ts";

/** How many times as large deflate makes something at most. */
export const growthMax = 1032;

/**
 * Decompresses a message when there is room for it. What gzip says at its end is how large it
 * becomes. Where that is wrong, or not said, room is found for eight times as much, up to the limit.
 * @throws {ConnectError} RESOURCE_EXHAUSTED above `readMaxBytes`.
 */
export async function unpack(
  bytes: Uint8Array,
  compression: Compression,
  readMaxBytes: number,
  holding?: Holding,
): Promise<Uint8Array> {
  let bytesMax = Math.min(expectedBytes(bytes, compression), readMaxBytes);
  const work = () => compression.decompress(bytes, bytesMax);
  for (;;) {
    let unpacked: Uint8Array;
    try {
      unpacked = await (holding?.make(bytesMax, work, byteLengthOf) ?? work());
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      // Other compressions have other words.
      if (bytesMax === readMaxBytes) throw messageTooLarge(readMaxBytes, error.cause);
      bytesMax = Math.min(8 * bytesMax, readMaxBytes);
      continue;
    }
    // A compression of the application may not know the limit.
    if (unpacked.byteLength > readMaxBytes) throw messageTooLarge(readMaxBytes);
    return unpacked;
  }
}

/** Other compressions do not say it: most text becomes less than twenty times as large. */
function expectedBytes(bytes: Uint8Array, { name }: Compression): number {
  const { buffer, byteOffset, byteLength } = bytes;
  if (name !== "gzip" || byteLength < 4) return Math.max(1, 20 * byteLength);
  // RFC 1952 section 2.3.1.
  const said = new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - 4, true);
  return Math.max(1, Math.min(said, growthMax * byteLength));
}

export function isTooLarge(error: unknown): error is ConnectError {
  return error instanceof ConnectError && error.code === Code.ResourceExhausted;
}
