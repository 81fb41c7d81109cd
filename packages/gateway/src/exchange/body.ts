import type { UniversalServerRequest } from "@connectrpc/connect/protocol";

/**
 * What has come of a body. A chunk that is alone, as most are, is kept as it is;
 * others are copied together, so that a body in small pieces takes no more
 * memory than its bytes do.
 */
export class BodyBuffer {
  #bytes: Uint8Array = noBytes;
  #isOwn = false;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Valid until the next chunk. */
  get bytes(): Uint8Array {
    const bytes = this.#bytes;
    return bytes.byteLength === this.#length ? bytes : bytes.subarray(0, this.#length);
  }

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.byteLength;
    if (this.#length === 0) {
      this.#bytes = chunk;
      this.#isOwn = false;
    } else {
      if (!this.#isOwn || length > this.#bytes.byteLength) this.#grow(length);
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** Takes the first bytes out. */
  take(length: number): Uint8Array {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    this.#length -= length;
    return taken;
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafe(Math.max(length, 2 * this.#length));
    grown.set(this.bytes);
    this.#bytes = grown;
    this.#isOwn = true;
  }
}

const noBytes = new Uint8Array(0);

/** What a body is before it is written: JSON stays text until then, which Node writes faster. */
export type Body = Uint8Array | string;

export function byteLengthOf(body: Body): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

export function bytesOf(body: Body): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}

/** An adapter may bring a body as JSON that it has parsed; ours does not. */
export function bodyOf(request: UniversalServerRequest): AsyncIterable<Uint8Array> {
  return request.body as AsyncIterable<Uint8Array>;
}
