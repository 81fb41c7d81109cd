/** The part of HTTP/2 framing (RFC 9113) that this client needs. */

export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4 } as const;

export const frameHeaderBytes = 9;

export const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Receives a frame as a range of `bytes`, without copying it. */
export type FrameHandler = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  payloadStart: number,
  payloadEnd: number,
) => void;

/** Splits received bytes into frames. */
export class FrameReader {
  readonly #onFrame: FrameHandler;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onFrame: FrameHandler) {
    this.#onFrame = onFrame;
  }

  read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + frameHeaderBytes <= bytes.length) {
      const start = at + frameHeaderBytes;
      const end = start + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const streamId = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      this.#onFrame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, streamId, bytes, start, end);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHeaderBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export function windowUpdate(streamId: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(frameType.windowUpdate, 0, streamId, payload);
}
