import { create, type DescMessage, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { type PlainField, type PlainMessage, plainMessageOf } from "../plain.ts";

type Message = MessageShape<DescMessage>;

/**
 * Reads a message.
 *
 * @returns undefined for one that is not plain, and for bytes that are unusual in
 * any way, right or wrong: usual ones hold each field once at most, in the order of
 * numbers and in its shortest form, and nothing else.
 */
export function readPlainBinary(desc: DescMessage, bytes: Uint8Array): Message | undefined {
  const plain = plainMessageOf(desc);
  return plain && readMessage(new Cursor(bytes), plain, bytes.length);
}

function readMessage(
  from: Cursor,
  { desc, fields }: PlainMessage,
  end: number,
): Message | undefined {
  const message = create(desc) as Message & Record<string, unknown>;
  let next = 0;
  while (from.position < end) {
    const tag = from.uint31();
    while (next < fields.length && fields[next]?.tag !== tag) next++;
    const field = fields[next++];
    const value = field && readValue(from, field.type);
    if (field === undefined || value === undefined) return undefined;
    message[field.name] = field.longAsString ? String(value) : value;
  }
  return from.position === end ? message : undefined;
}

function readValue(from: Cursor, type: PlainField["type"]): unknown {
  switch (type) {
    case ScalarType.STRING:
      return from.string();
    case ScalarType.BYTES:
      return from.bytes();
    case ScalarType.BOOL:
      return from.bool();
    case ScalarType.INT32:
    case ScalarType.UINT32:
      return from.uint31();
    case ScalarType.SINT32:
      return from.sint32();
    case ScalarType.INT64:
      return from.int64();
    case ScalarType.UINT64:
      return from.uint64();
    case ScalarType.SINT64:
      return from.sint64();
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
    case ScalarType.FLOAT:
      return from.fixed32(type);
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.DOUBLE:
      return from.fixed64(type);
    default: {
      const length = from.length();
      return length === undefined ? undefined : readMessage(from, type, from.position + length);
    }
  }
}

type Fixed32 = ScalarType.FIXED32 | ScalarType.SFIXED32 | ScalarType.FLOAT;
type Fixed64 = ScalarType.FIXED64 | ScalarType.SFIXED64 | ScalarType.DOUBLE;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** To decode a text in one go costs more than to look at as many bytes, one by one. */
const shortTextMax = 64;

/** Where a varint of 64 bits is put together. */
const word = new DataView(new ArrayBuffer(8));

/** A place in bytes, and what stands there: undefined for what is unusual. */
class Cursor {
  readonly #source: Uint8Array;
  readonly #bytes: Buffer;
  position = 0;

  constructor(bytes: Uint8Array) {
    const { buffer, byteOffset, byteLength } = bytes;
    this.#source = bytes;
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(buffer, byteOffset, byteLength);
  }

  bool(): boolean | undefined {
    const number = this.uint31();
    return number === 0 || number === 1 ? number === 1 : undefined;
  }

  /** A number that is the same as int32 and as uint32. */
  uint31(): number | undefined {
    const first = this.#bytes[this.position] ?? -1;
    if (first >= 0 && first < 0x80) {
      this.position++;
      return first;
    }
    if (!this.#readWord()) return undefined;
    const low = word.getInt32(0, true);
    return low >= 0 && word.getInt32(4, true) === 0 ? low : undefined;
  }

  int64(): bigint | undefined {
    return this.#readWord() ? word.getBigInt64(0, true) : undefined;
  }

  uint64(): bigint | undefined {
    return this.#readWord() ? word.getBigUint64(0, true) : undefined;
  }

  sint32(): number | undefined {
    const zigzag = this.uint31();
    return zigzag === undefined ? undefined : (zigzag >>> 1) ^ -(zigzag & 1);
  }

  sint64(): bigint | undefined {
    const zigzag = this.uint64();
    return zigzag === undefined ? undefined : (zigzag >> 1n) ^ -(zigzag & 1n);
  }

  fixed32(type: Fixed32): number | undefined {
    const start = this.position;
    this.position += 4;
    if (this.position > this.#bytes.length) return undefined;
    switch (type) {
      case ScalarType.FIXED32:
        return this.#bytes.readUInt32LE(start);
      case ScalarType.SFIXED32:
        return this.#bytes.readInt32LE(start);
      case ScalarType.FLOAT:
        return this.#bytes.readFloatLE(start);
    }
  }

  fixed64(type: Fixed64): number | bigint | undefined {
    const start = this.position;
    this.position += 8;
    if (this.position > this.#bytes.length) return undefined;
    switch (type) {
      case ScalarType.FIXED64:
        return this.#bytes.readBigUInt64LE(start);
      case ScalarType.SFIXED64:
        return this.#bytes.readBigInt64LE(start);
      case ScalarType.DOUBLE:
        return this.#bytes.readDoubleLE(start);
    }
  }

  string(): string | undefined {
    const start = this.#skipBytes();
    if (start === undefined) return undefined;
    const end = this.position;
    if (end - start <= shortTextMax && this.#isAscii(start, end)) {
      return this.#bytes.toString("latin1", start, end);
    }
    try {
      return utf8.decode(this.#bytes.subarray(start, end));
    } catch {
      return undefined;
    }
  }

  bytes(): Uint8Array | undefined {
    const start = this.#skipBytes();
    return start === undefined ? undefined : this.#source.subarray(start, this.position);
  }

  /** The length of what is there, all of it. */
  length(): number | undefined {
    const length = this.uint31();
    if (length === undefined || length > this.#bytes.length - this.position) return undefined;
    return length;
  }

  /** @returns where the bytes begin that now lie behind. */
  #skipBytes(): number | undefined {
    const length = this.length();
    if (length === undefined) return undefined;
    const start = this.position;
    this.position += length;
    return start;
  }

  #isAscii(start: number, end: number): boolean {
    for (let i = start; i < end; i++) if ((this.#bytes[i] ?? 0) >= 0x80) return false;
    return true;
  }

  /** Reads a varint in its shortest form, up to 64 bits. @returns whether there is one. */
  #readWord(): boolean {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.position++] ?? -1; // behind the end
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i < 8) middle |= bits << (7 * i - 28);
      else high |= bits << (7 * i - 56);
      if (byte >= 0x80) continue;
      if (byte < 0 || (byte === 0 && i > 0) || (byte > 1 && i === 9)) return false;
      word.setInt32(0, low | (middle << 28), true);
      word.setInt32(4, (middle >> 4) | (high << 24), true);
      return true;
    }
    return false;
  }
}
