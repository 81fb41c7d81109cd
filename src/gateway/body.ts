import { Code, ConnectError } from "@connectrpc/connect";
import type { Exchange } from "./exchange.ts";

/**
 * Reads a whole body, as it was sent.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED above `bytesMax`; before the body,
 * where its length is announced.
 */
export async function readBody(exchange: Exchange, bytesMax: number): Promise<Uint8Array> {
  const announced = Number(exchange.headers["content-length"]);
  if (announced > bytesMax) {
    throw tooLarge(`message size ${announced}`, bytesMax);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  await exchange.readBody((chunk) => {
    size += chunk.byteLength;
    if (size > bytesMax) throw tooLarge("message size", bytesMax);
    chunks.push(chunk);
  });
  return joinChunks(chunks);
}

/** Most bodies are one chunk: it is taken as it is. */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
}

function tooLarge(subject: string, bytesMax: number): ConnectError {
  return new ConnectError(
    `${subject} is larger than configured readMaxBytes ${bytesMax}`,
    Code.ResourceExhausted,
  );
}
