import { BodyBuffer } from "./body.ts";
import type { BodySink, Exchange } from "./exchange.ts";

export interface BodyLimit {
  readonly bytesMax: number;
  /** Creates the error for a larger body. The size is given if it is announced. */
  readonly tooLarge: (size: number | undefined) => Error;
}

/**
 * Reads a whole body, as sent.
 *
 * @returns what `parse` makes of it.
 * @throws for a body over the limit. If its length is announced, before reading it.
 */
export function readBody<T>(
  exchange: Exchange,
  limit: BodyLimit,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  const announced = Number(exchange.headers["content-length"]);
  if (announced > limit.bytesMax) throw limit.tooLarge(announced);
  return exchange.readBody(new WholeBody(limit, parse));
}

class WholeBody<T> implements BodySink<T> {
  readonly #limit: BodyLimit;
  readonly #parse: (bytes: Uint8Array) => T | Promise<T>;
  readonly #body = new BodyBuffer();

  constructor(limit: BodyLimit, parse: (bytes: Uint8Array) => T | Promise<T>) {
    this.#limit = limit;
    this.#parse = parse;
  }

  push(chunk: Uint8Array): void {
    const { bytesMax, tooLarge } = this.#limit;
    if (this.#body.length + chunk.byteLength > bytesMax) throw tooLarge(undefined);
    this.#body.append(chunk);
  }

  end(): T | Promise<T> {
    return this.#parse(this.#body.bytes);
  }
}
