import type { ConnectError } from "@connectrpc/connect";
import { type Holding, isWorkers, requestBytes } from "./body-budget.ts";
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
 * Collects the chunks of a body, and counts them. A single chunk, the usual case, is kept as it is.
 * Several are copied into one buffer: small pieces would take more memory than their bytes.
 */
export class BodyBuffer {
  declare length: number;
  declare protected buffer: Uint8Array;
  declare private readonly holding: Holding | undefined;
  declare private counted: number;
  declare private expected: number;

  /** @param counted The bytes that are counted already. */
  constructor(holding?: Holding, counted = 0) {
    this.length = 0;
    this.buffer = noBytes;
    this.holding = holding;
    this.counted = counted;
    this.expected = 0;
  }

  /** Valid until the next chunk. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  /** @param expected How many bytes there will be before any is taken, if known. @returns as `Holding.add`. */
  append(chunk: Uint8Array, expected = 0): Promise<void> | undefined {
    const length = this.length + chunk.byteLength;
    this.expected = Math.min(expected, expectedMax);
    if (this.length === 0) this.buffer = chunk;
    else {
      // A chunk from outside has no room for another.
      if (length > this.buffer.byteLength) this.#grow(length);
      this.buffer.set(chunk, this.length);
    }
    this.length = length;
    const more = Math.max(length, this.expected) - this.counted;
    if (more <= 0 || this.holding === undefined) return undefined;
    this.counted += more;
    const here = Math.min(more, chunk.byteLength);
    return this.holding.add(here, more - here);
  }

  /** Removes the first bytes and returns them. They count until `settle`. */
  take(length: number): Uint8Array {
    const taken = this.buffer.subarray(0, length);
    this.length -= length;
    const rest = this.buffer.subarray(length);
    // A few bytes must not keep a large buffer.
    this.buffer = 2 * this.length > length ? rest : new Uint8Array(rest.subarray(0, this.length));
    this.expected = 0;
    return taken;
  }

  /** Gives back everything but what is here or expected. */
  settle(): void {
    const kept = Math.max(this.length, this.expected);
    this.holding?.give(this.counted - kept);
    this.counted = kept;
  }

  #grow(length: number): void {
    // What is announced is counted. The next message may follow in its last chunk.
    const announced = this.expected + length - this.length;
    const isNear = length < this.expected && announced < 16 * this.length;
    const grown = new Uint8Array(Math.max(length, isNear ? announced : 2 * this.length));
    grown.set(this.bytes);
    this.buffer = grown;
  }
}

const noBytes = new Uint8Array(0);

/** More than that is not counted because somebody says that it will come: it need not be true. */
const expectedMax = 4 * 1024 * 1024;

export interface BodyLimit {
  readonly bytesMax: number;
  /** Creates the error for a larger body. */
  readonly tooLarge: () => Error;
}

/** A whole body, as sent. @returns what `parse` makes of it. @throws over the limit, if announced at once. */
export function readBody<T>(
  exchange: Pick<Exchange, "headers" | "readBody" | "holding">,
  { bytesMax, tooLarge }: BodyLimit,
  parse: (bytes: Uint8Array) => T | Promise<T>,
): Promise<T> {
  // Bun and Deno join two that are the same: `8, 8`.
  const announced = Number.parseInt(`${exchange.headers["content-length"]}`, 10) || 0;
  if (announced > bytesMax) throw tooLarge();
  const body = new BodyBuffer(exchange.holding, requestBytes);
  const sink: BodySink<T> = {
    push(chunk) {
      if (body.length + chunk.byteLength > bytesMax) throw tooLarge();
      return body.append(chunk, announced);
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
        "off for its paths (express.json(), content type parsers of Fastify, bodyParser of Next.js)",
    );
  }
}

/** A chunk of thousands of messages takes so long. Then others are served before the next. */
export const longMs = 5;

/** In the next turn of the event loop, on Deno before requests are looked at. Workers lack `setImmediate`. */
export const atOnce: (run: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

/** In the next turn of the event loop, once requests are looked at. */
export const soon = "Deno" in globalThis ? setTimeout : atOnce;

/** Lets others have theirs. */
export const turnBy = (wait: typeof atOnce) => new Promise<void>((resolve) => wait(resolve));

let turn = Promise.resolve();

export function nextTurn(): Promise<void> {
  turn = isWorkers ? turnBy(soon) : turn.then(() => turnBy(soon));
  return turn;
}

/** Chunks as Node has them. Other runtimes make larger ones, and read on without a turn of the event loop. */
export async function* inPieces(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  let usedMs = 0; // not while a chunk is awaited
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += 16_384) {
      usedMs -= performance.now();
      yield chunk.subarray(at, at + 16_384);
      usedMs += performance.now();
      if (usedMs <= longMs) continue;
      await nextTurn();
      usedMs = 0;
    }
  }
}
