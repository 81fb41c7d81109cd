import type { UniversalServerRequest } from "@connectrpc/connect/protocol";

/**
 * Collects the chunks of a body. A single chunk, the usual case, is kept as it is. Several are
 * copied into one buffer, so that a body in small pieces takes no more memory than its bytes.
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

  /** Removes the first bytes and returns them. */
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

/** A body before it is written. JSON stays text until then, because Node writes text faster. */
export type Body = Uint8Array | string;

export function byteLengthOf(body: Body): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
}

export function bytesOf(body: Body): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}

/** An adapter may pass a body as parsed JSON; ours does not. */
export function bodyOf(request: UniversalServerRequest): AsyncIterable<Uint8Array> {
  return request.body as AsyncIterable<Uint8Array>;
}
