import { joinChunks } from "./body.ts";
import type { Exchange } from "./exchange.ts";

export interface BodyLimit {
  readonly bytesMax: number;
  /** The error of a larger body, whose size is given if it is announced. */
  readonly tooLarge: (size: number | undefined) => Error;
}

/**
 * Reads a whole body, as it was sent.
 *
 * @returns what `parse` makes of it.
 * @throws for a body over the limit: before it is read, where its length is announced.
 */
export function readBody<T>(
  exchange: Exchange,
  { bytesMax, tooLarge }: BodyLimit,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  const announced = Number(exchange.headers["content-length"]);
  if (announced > bytesMax) throw tooLarge(announced);
  const chunks: Uint8Array[] = [];
  let size = 0;
  return exchange.readBody({
    push(chunk) {
      size += chunk.byteLength;
      if (size > bytesMax) throw tooLarge(undefined);
      chunks.push(chunk);
    },
    end: () => parse(joinChunks(chunks)),
  });
}
