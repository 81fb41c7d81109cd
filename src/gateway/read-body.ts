import { BodyBuffer } from "./body.ts";
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
  const body = new BodyBuffer();
  return exchange.readBody({
    push(chunk) {
      if (body.length + chunk.byteLength > bytesMax) throw tooLarge(undefined);
      body.append(chunk);
    },
    end: () => parse(body.bytes),
  });
}
