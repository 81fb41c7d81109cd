import type { ConnectError } from "@connectrpc/connect";
import type { Body, BodySink, Exchange, Response } from "./exchange.ts";
import type { NodeHeaders } from "./headers.ts";

export type { Body } from "./exchange.ts";

const utf8 = new TextEncoder();

/** Of Node, where it is there: it counts without encoding. */
const countBytes = globalThis.Buffer?.byteLength ?? ((text: string) => utf8.encode(text).length);

export function byteLengthOf(body: Body): number {
  return typeof body === "string" ? countBytes(body) : body.byteLength;
}

export function bytesOf(body: Body): Uint8Array {
  return typeof body === "string" ? utf8.encode(body) : body;
}

/** A whole answer. @param error That it reports. */
export function smallResponse(
  status: number,
  body = "",
  header: NodeHeaders = {},
  error?: ConnectError,
): Response {
  return { status, header: { ...header, "content-length": byteLengthOf(body) }, body, error };
}

export function jsonResponse(body: string): Response {
  return smallResponse(200, body, { "content-type": "application/json" });
}

export function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.byteLength + second.byteLength);
  all.set(first);
  all.set(second, first.byteLength);
  return all;
}

/**
 * Collects the chunks of a body. A single chunk, the usual case, is kept as it is. Several are
 * copied into one buffer, so that a body in small pieces takes no more memory than its bytes.
 */
export class BodyBuffer {
  #bytes: Uint8Array = noBytes;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Valid until the next chunk. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.byteLength;
    if (this.#length === 0) {
      this.#bytes = chunk;
    } else {
      // A chunk from outside has no room for another.
      if (length > this.#bytes.byteLength) this.#grow(length);
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** Removes the first bytes and returns them. */
  take(length: number): Uint8Array {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    this.#length -= length;
    return taken;
  }

  #grow(length: number): void {
    const grown = new Uint8Array(Math.max(length, 2 * this.#length));
    grown.set(this.bytes);
    this.#bytes = grown;
  }
}

const noBytes = new Uint8Array(0);

export interface BodyLimit {
  readonly bytesMax: number;
  /** Creates the error for a larger body. */
  readonly tooLarge: () => Error;
}

/**
 * Reads a whole body, as sent.
 *
 * @returns what `parse` makes of it.
 * @throws for a body over the limit. If its length is announced, before reading it.
 */
export function readBody<T>(
  exchange: Pick<Exchange, "headers" | "readBody">,
  { bytesMax, tooLarge }: BodyLimit,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  const announced = Number(exchange.headers["content-length"]);
  if (announced > bytesMax) throw tooLarge();
  const body = new BodyBuffer();
  const sink: BodySink<T> = {
    push(chunk) {
      if (body.length + chunk.byteLength > bytesMax) throw tooLarge();
      body.append(chunk);
    },
    end: () => parse(body.bytes),
  };
  return exchange.readBody(sink);
}

/** Not the client's fault: the server's handlers are in the wrong order. */
export class BodyAlreadyReadError extends Error {
  override readonly name = "BodyAlreadyReadError";

  constructor() {
    super(
      "the request body was read before the gateway: mount it before body parsers, or turn them " +
        "off for its paths (express.json(), the content type parsers of Fastify, bodyParser of " +
        "an API route of Next.js)",
    );
  }
}
