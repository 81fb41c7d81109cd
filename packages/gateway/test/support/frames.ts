/** HTTP/2 frame by frame (RFC 9113), so that a test can send what no client would. */

export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4 } as const;

export const errorCode = { noError: 0, protocol: 1, refusedStream: 7, cancel: 8 } as const;

export const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function frame(
  type: number,
  given: { flags?: number; streamId?: number; payload?: Uint8Array } = {},
): Buffer {
  const { flags = 0, streamId = 0, payload = new Uint8Array() } = given;
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** A whole block of headers. */
export function headersFrame(
  streamId: number,
  fields: Parameters<typeof fieldBlock>[0],
  isLast = false,
): Buffer {
  const flags = flag.endHeaders | (isLast ? flag.endStream : 0);
  return frame(frameType.headers, { flags, streamId, payload: fieldBlock(fields) });
}

export function resetFrame(streamId: number, code: number): Buffer {
  return frame(frameType.rstStream, { streamId, payload: uint32(code) });
}

/** @param lastStreamId The last stream that the server looks at. */
export function goawayFrame(lastStreamId = 0, code = 0): Buffer {
  return frame(frameType.goaway, { payload: Buffer.concat([uint32(lastStreamId), uint32(code)]) });
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The first bytes of every client. */
export const greeting: Buffer = Buffer.concat([preface, frame(frameType.settings)]);

export const settingsAck: Buffer = frame(frameType.settings, { flags: flag.ack });

/** The first bytes of a client that follows the rules, and these frames. */
export function http2Bytes(...frames: readonly Uint8Array[]): Buffer {
  return Buffer.concat([greeting, settingsAck, ...frames]);
}

/** The same of a client that gives no window to any answer. */
export function bytesWithoutWindow(...frames: readonly Uint8Array[]): Buffer {
  const noWindow = frame(frameType.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 0) });
  return Buffer.concat([preface, noWindow, settingsAck, ...frames]);
}

/** Whether a server has sent a frame of this type. */
export const sees =
  (type: number) =>
  (received: Buffer): boolean =>
    framesIn(received).some((one) => one.type === type);

/** A block of fields, each a literal without indexing (RFC 7541, section 6.2.2). */
export function fieldBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, "latin1");
    return Buffer.concat([hpackInteger(bytes.length), bytes]);
  };
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

/** An integer with a prefix of 7 bits (RFC 7541, section 5.1). */
function hpackInteger(value: number): Buffer {
  if (value < 127) return Buffer.of(value);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** The complete frames in the bytes from a server. */
export function framesIn(received: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= received.length; ) {
    const end = at + 9 + received.readUIntBE(at, 3);
    if (end > received.length) break;
    frames.push({
      type: received.readUInt8(at + 3),
      flags: received.readUInt8(at + 4),
      streamId: received.readUInt32BE(at + 5) & 0x7fffffff,
      payload: received.subarray(at + 9, end),
    });
    at = end;
  }
  return frames;
}
