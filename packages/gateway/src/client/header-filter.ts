/** As much of HTTP/2 frames (RFC 9113) and field blocks (HPACK, RFC 7541) as is needed to leave fields out. */

const frameHeadBytes = 9;
const frameBytesMax = 16_384;
const type = { headers: 1, continuation: 9 } as const;
const flag = { endHeaders: 4, padded: 8, priority: 32 } as const;

/** A larger block is passed on unchanged, and Node ends the connection. */
const gatheredBytesMax = 4 * 1024 * 1024;

/** The largest block that is passed on whole. */
const blockBytesMax = 65_535;

/** In a larger block, fields of more bytes are left out. */
const fieldBytesMax = 1024;

/** The size of the table. What replaces an omitted entry must at least fill it. */
const tableBytes = 4096;

export const omittedField = "grpc-fields-omitted";

/**
 * Node ends a connection, and all calls on it, for one field over 64 KiB or nine header frames in a row.
 * This filter joins frames. Of a block that is too large, it leaves out large fields and adds {@link
 * omittedField}, so that only the call that they answer fails. Small fields stay, because the table may
 * need them: over 144 KiB of them still end the connection.
 */
export class HeaderFilter {
  /** Bytes of the current frame that have not arrived. They are passed on unchanged. */
  #passing = 0;
  /** The beginning of a frame that is needed whole. */
  #rest: Buffer = Buffer.alloc(0);
  /** Header frames that others follow. */
  #frames: Buffer[] = [];
  #gathered = 0;

  /** @param received The next bytes from the server. @returns what to pass on before the next call. */
  filter(received: Buffer): readonly Buffer[] {
    const chunk = this.#rest.length === 0 ? received : Buffer.concat([this.#rest, received]);
    this.#rest = this.#rest.subarray(0, 0);
    const parts: Buffer[] = [];
    let begin = 0;
    let at = this.#passing;
    this.#passing = 0;
    while (at < chunk.length) {
      const left = chunk.length - at;
      const length = left < frameHeadBytes ? 0 : frameHeadBytes + chunk.readUIntBE(at, 3);
      if (length > 0 && !this.#isGathered(chunk, at)) {
        if (this.#frames.length > 0) {
          parts.push(...this.#takeGathered());
          begin = at;
        }
        at += length;
        continue;
      }
      if (begin < at) parts.push(chunk.subarray(begin, at));
      begin = at + length;
      if (left < frameHeadBytes || left < length) {
        this.#rest = Buffer.from(chunk.subarray(at));
        return parts;
      }
      const frame = Buffer.from(chunk.subarray(at, begin));
      this.#frames.push(frame);
      this.#gathered += Math.max(length, fieldBytesMax); // a frame may be empty
      if (isLast(frame)) parts.push(...shrink(this.#takeGathered()));
      at = begin;
    }
    this.#passing = at - chunk.length;
    if (begin < chunk.length) parts.push(chunk.subarray(begin));
    return parts;
  }

  /** Whether a frame is part of headers in several frames. */
  #isGathered(chunk: Buffer, at: number): boolean {
    const length = chunk.readUIntBE(at, 3);
    if (length > frameBytesMax || this.#gathered + length > gatheredBytesMax) return false;
    if (this.#frames.length > 0) return chunk[at + 3] === type.continuation;
    return chunk[at + 3] === type.headers && !isLast(chunk.subarray(at));
  }

  #takeGathered(): readonly Buffer[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#gathered = 0;
    return frames;
  }
}

function isLast(frame: Buffer): boolean {
  return ((frame[4] ?? 0) & flag.endHeaders) !== 0;
}

/** The same headers in as few frames as possible, without large fields if they are too large. */
function shrink(frames: readonly Buffer[]): readonly Buffer[] {
  const [first = Buffer.alloc(0), ...more] = frames;
  const others = more.map((frame) => frame.subarray(frameHeadBytes));
  const block = Buffer.concat([withoutPadding(first), ...others]);
  if (block.length <= blockBytesMax) return toFrames(block, first);
  try {
    return toFrames(Buffer.concat(withoutLargeFields(block)), first);
  } catch {
    return frames; // not HPACK
  }
}

function withoutPadding(headers: Buffer): Buffer {
  const flags = headers[4] ?? 0;
  const isPadded = (flags & flag.padded) !== 0;
  const padding = isPadded ? (headers[frameHeadBytes] ?? 0) : 0;
  const begin = frameHeadBytes + (isPadded ? 1 : 0) + ((flags & flag.priority) !== 0 ? 5 : 0);
  return headers.subarray(begin, headers.length - padding);
}

function withoutLargeFields(block: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  let kept = 0;
  for (let begin = 0, end = 0; begin < block.length; begin = end) {
    const kind = block.readUInt8(begin);
    end = endOfField(block, begin);
    // A literal with incremental indexing becomes an entry of the table. One that is larger than the
    // table empties it (section 4.4). This one is, even if each byte of its text was coded in 30 bits.
    const isIndexed = kind >= 0x40;
    if (end - begin <= (isIndexed ? 4 * tableBytes : fieldBytesMax)) continue;
    parts.push(block.subarray(kept, begin));
    if (isIndexed) parts.push(literal(0x40, omittedField, "x".repeat(tableBytes)));
    kept = end;
  }
  parts.push(block.subarray(kept), literal(0, omittedField, ""));
  return parts;
}

/** The end of a field's representation (section 6). @throws {RangeError} */
function endOfField(block: Buffer, at: number): number {
  const kind = block.readUInt8(at);
  if (kind >= 0x80) return readInteger(block, at, 7).end;
  if (kind >= 0x20 && kind < 0x40) return readInteger(block, at, 5).end;
  const { value: index, end } = readInteger(block, at, kind >= 0x40 ? 6 : 4);
  return endOfText(block, index === 0 ? endOfText(block, end) : end);
}

function endOfText(block: Buffer, at: number): number {
  const { value: length, end } = readInteger(block, at, 7);
  if (end + length > block.length) throw new RangeError("the text has no end");
  return end + length;
}

function readInteger(block: Buffer, at: number, bits: number): { value: number; end: number } {
  const max = 2 ** bits - 1;
  let value = block.readUInt8(at) & max;
  let end = at + 1;
  if (value < max) return { value, end };
  for (let factor = 1, byte = 0x80; byte >= 0x80; factor *= 128) {
    byte = block.readUInt8(end++);
    value += (byte % 128) * factor;
  }
  return { value, end };
}

/** @param kind 0x40 adds it to the table. */
function literal(kind: number, name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(kind), text(name), text(value)]);
}

function text(value: string): Buffer {
  const { length } = value;
  const head = length < 127 ? [length] : [127, ((length - 127) % 128) + 128, (length - 127) >> 7];
  return Buffer.concat([Buffer.from(head), Buffer.from(value)]);
}

function toFrames(block: Buffer, first: Buffer): readonly Buffer[] {
  const frames: Buffer[] = [];
  for (let begin = 0; begin === 0 || begin < block.length; begin += frameBytesMax) {
    const payload = block.subarray(begin, begin + frameBytesMax);
    const head = Buffer.from(first.subarray(0, frameHeadBytes));
    head.writeUIntBE(payload.length, 0, 3);
    if (begin > 0) head[3] = type.continuation;
    const flags = begin > 0 ? 0 : (first[4] ?? 0) & ~(flag.padded | flag.priority);
    head[4] = begin + frameBytesMax < block.length ? flags : flags | flag.endHeaders;
    frames.push(head, payload);
  }
  return frames;
}
