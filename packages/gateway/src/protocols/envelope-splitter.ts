import { Code, ConnectError } from "@connectrpc/connect";
import { BodyBuffer } from "../exchange/body.ts";

/** A byte of flags, four of length, then the message. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

const headBytes = 5;

/** Takes a body apart as it arrives. Memory is taken for what has come, not for what is claimed. */
export class EnvelopeSplitter {
  readonly #readMaxBytes: number;
  readonly #pending = new BodyBuffer();

  constructor(readMaxBytes: number) {
    this.#readMaxBytes = readMaxBytes;
  }

  /** Whether an envelope has begun that is not whole. */
  get isAmid(): boolean {
    return this.#pending.length > 0;
  }

  /**
   * @returns the envelopes that are whole now.
   * @throws {ConnectError} RESOURCE_EXHAUSTED for a message above `readMaxBytes`, as soon as its
   * length is there.
   */
  push(chunk: Uint8Array): readonly Envelope[] {
    const isFirst = this.#pending.length === 0 && chunk.length >= headBytes;
    if (isFirst && chunk.length === headBytes + this.#lengthIn(chunk)) {
      return [{ flags: chunk[0] ?? 0, data: chunk.subarray(headBytes) }]; // as most come
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

  /** The length that an envelope claims. */
  #lengthIn(head: Uint8Array): number {
    const length =
      (head[1] ?? 0) * 2 ** 24 + ((head[2] ?? 0) << 16) + ((head[3] ?? 0) << 8) + (head[4] ?? 0);
    if (length <= this.#readMaxBytes) return length;
    throw new ConnectError(
      `message size ${length} is larger than configured readMaxBytes ${this.#readMaxBytes}`,
      Code.ResourceExhausted,
    );
  }
}

export function wrapEnvelope(flags: number, data: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(headBytes + data.byteLength);
  bytes[0] = flags;
  bytes.writeUInt32BE(data.byteLength, 1);
  bytes.set(data, headBytes);
  return bytes;
}
