import { messageTooLarge } from "../codec/codec.ts";
import { BodyBuffer } from "../http/body.ts";

/** One byte of flags, four bytes of length, then the message. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

const headBytes = 5;

/**
 * Splits a body as it arrives. Allocates memory for the bytes that have arrived, not for the
 * announced length.
 */
export class EnvelopeSplitter {
  readonly #readMaxBytes: number;
  readonly #pending = new BodyBuffer();

  constructor(readMaxBytes: number) {
    this.#readMaxBytes = readMaxBytes;
  }

  /** The bytes received of an incomplete envelope. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /**
   * @returns the envelopes that are now complete.
   * @throws {ConnectError} RESOURCE_EXHAUSTED for a message above `readMaxBytes`, as soon as its
   * length is known.
   */
  push(chunk: Uint8Array): readonly Envelope[] {
    const isFirst = this.#pending.length === 0 && chunk.length >= headBytes;
    if (isFirst && chunk.length === headBytes + this.#lengthIn(chunk)) {
      return [{ flags: chunk[0] ?? 0, data: chunk.subarray(headBytes) }]; // the usual case
    }
    this.#pending.append(chunk);
    const envelopes: Envelope[] = [];
    while (this.#pending.length >= headBytes) {
      const head = this.#pending.bytes;
      const length = this.#lengthIn(head);
      if (this.#pending.length < headBytes + length) break;
      const data = this.#pending.take(headBytes + length).subarray(headBytes);
      envelopes.push({ flags: head[0] ?? 0, data });
    }
    return envelopes;
  }

  /** The announced length of an envelope. */
  #lengthIn(head: Uint8Array): number {
    const length =
      (head[1] ?? 0) * 2 ** 24 + ((head[2] ?? 0) << 16) + ((head[3] ?? 0) << 8) + (head[4] ?? 0);
    if (length <= this.#readMaxBytes) return length;
    throw messageTooLarge(this.#readMaxBytes);
  }
}

export function wrapEnvelope(flags: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const { byteLength } = data;
  const bytes = allocate(headBytes + byteLength);
  bytes[0] = flags;
  bytes[1] = byteLength >>> 24;
  bytes[2] = byteLength >>> 16;
  bytes[3] = byteLength >>> 8;
  bytes[4] = byteLength;
  bytes.set(data, headBytes);
  return bytes;
}

/** Uses Node's pool if there is one. A separate ArrayBuffer for each message would be the largest cost. */
const allocate: (size: number) => Uint8Array<ArrayBuffer> =
  globalThis.Buffer?.allocUnsafe ?? ((size) => new Uint8Array(size));
