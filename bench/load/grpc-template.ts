import { grpcBody } from "../requests.ts";
import { frame, frameHeaderBytes, frameType } from "./frames.ts";

/**
 * The frames of one gRPC request, created once. Every further request is a copy with different
 * numbers in the same places: the stream id of both frames, and the id of the plant, which always
 * takes 8 bytes.
 */
export class GrpcTemplate {
  readonly bytes: number;
  /** How much of it counts against flow control windows. */
  readonly dataBytes: number;
  readonly #frames: Buffer;
  readonly #dataAt: number;
  readonly #idAt: number;

  /** @param headers The HEADERS frame of a request, valid for any stream number. */
  constructor(headers: { readonly flags: number; readonly payload: Uint8Array }) {
    const body = grpcBody(2 ** 50);
    const head = frame(frameType.headers, headers.flags, 0, headers.payload);
    this.#frames = Buffer.concat([head, frame(frameType.data, endStream, 0, body)]);
    this.bytes = this.#frames.length;
    this.dataBytes = body.length;
    this.#dataAt = head.length;
    this.#idAt = head.length + frameHeaderBytes + body.indexOf(varintOf(2 ** 50));
  }

  /** Writes a request into `target` at offset `at`. */
  write(target: Buffer, at: number, streamId: number, plantId: number): void {
    this.#frames.copy(target, at);
    target.writeUInt32BE(streamId, at + 5);
    target.writeUInt32BE(streamId, at + this.#dataAt + 5);
    writeVarint(target, at + this.#idAt, plantId);
  }
}

const endStream = 1;

function varintOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  writeVarint(bytes, 0, value);
  return bytes;
}

/** Eight bytes with seven bits each, lowest first. The value is in [2^49, 2^53]. */
function writeVarint(target: Buffer, at: number, value: number): void {
  const low = value % 2 ** 28;
  const high = Math.floor(value / 2 ** 28);
  target[at] = (low & 0x7f) | 0x80;
  target[at + 1] = ((low >>> 7) & 0x7f) | 0x80;
  target[at + 2] = ((low >>> 14) & 0x7f) | 0x80;
  target[at + 3] = ((low >>> 21) & 0x7f) | 0x80;
  target[at + 4] = (high & 0x7f) | 0x80;
  target[at + 5] = ((high >>> 7) & 0x7f) | 0x80;
  target[at + 6] = ((high >>> 14) & 0x7f) | 0x80;
  target[at + 7] = (high >>> 21) & 0x7f;
}
