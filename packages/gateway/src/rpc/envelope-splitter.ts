import { messageTooLarge } from "../codec/codec.ts";
import { BodyBuffer } from "../http/body.ts";
import type { Holding } from "../http/body-budget.ts";

/** One byte of flags, four bytes of length, then the message. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

export const headBytes = 5;

/**
 * Splits a body as it arrives. Allocates memory for the bytes that have arrived, not for the
 * announced length, which is counted.
 */
export class EnvelopeSplitter extends BodyBuffer {
  declare private readonly readMaxBytes: number;

  /** @param counted As `BodyBuffer`. */
  constructor(readMaxBytes: number, holding?: Holding, counted?: number) {
    super(holding, counted);
    this.readMaxBytes = readMaxBytes;
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED as `next`. @returns as `append`. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    const head = this.length === 0 ? chunk : this.buffer;
    const has = this.length === 0 ? chunk.length : this.length;
    return this.append(chunk, has < headBytes ? 0 : headBytes + lengthIn(head, this.readMaxBytes));
  }

  /**
   * @returns the next envelope; undefined until it is complete.
   * @throws {ConnectError} RESOURCE_EXHAUSTED for a message above `readMaxBytes`, as soon as its
   * length is known.
   */
  next(): Envelope | undefined {
    if (this.length < headBytes) return undefined;
    const length = lengthIn(this.buffer, this.readMaxBytes);
    if (this.length < headBytes + length) return undefined;
    const bytes = this.take(headBytes + length);
    return { flags: bytes[0] ?? 0, data: bytes.subarray(headBytes) };
  }
}

/** Whether a chunk is one whole envelope, as most are. @throws as `next`. */
export function isEnvelope(chunk: Uint8Array, readMaxBytes: number): boolean {
  return chunk.length >= headBytes && chunk.length === headBytes + lengthIn(chunk, readMaxBytes);
}

/** The announced length of an envelope. */
export function lengthIn(head: Uint8Array, readMaxBytes: number): number {
  const length =
    (head[1] ?? 0) * 2 ** 24 + ((head[2] ?? 0) << 16) + ((head[3] ?? 0) << 8) + (head[4] ?? 0);
  if (length <= readMaxBytes) return length;
  throw messageTooLarge(readMaxBytes);
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
