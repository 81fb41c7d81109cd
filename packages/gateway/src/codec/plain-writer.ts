import { type DescMessage, isFieldSet, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { type PlainField, type PlainMessage, plainMessageOf } from "./plain-message.ts";

type Message = MessageShape<DescMessage>;

/**
 * Writes a message.
 *
 * @returns undefined if the message is not plain, is long, or has anything unusual, valid or not:
 * unknown fields, values of another type, negative 32-bit numbers; and on a runtime without Buffer.
 */
export function writePlainBinary(desc: DescMessage, message: Message): Uint8Array | undefined {
  const plain = plainMessageOf(desc);
  if (plain === undefined || scratch === undefined) return undefined;
  const to = new Sink();
  return writeMessage(to, plain, message) ? to.copy() : undefined;
}

/** @returns false if the message is unusual. */
function writeMessage(to: Sink, { desc, fields }: PlainMessage, message: Message): boolean {
  if (message.$typeName !== desc.typeName || message.$unknown !== undefined) return false;
  for (let i = fields.length - 1; i >= 0; i--) {
    const field = fields[i] as PlainField;
    if (!isFieldSet(message, field.desc)) continue;
    const value = (message as Message & Record<string, unknown>)[field.name];
    if (!writeValue(to, field.type, value) || !to.uint31(field.tag)) return false;
  }
  return true;
}

function writeValue(to: Sink, type: PlainField["type"], value: unknown): boolean {
  switch (type) {
    case ScalarType.STRING:
      return typeof value === "string" && to.string(value);
    case ScalarType.BYTES:
      return value instanceof Uint8Array && to.bytes(value);
    case ScalarType.BOOL:
      return typeof value === "boolean" && to.byte(Number(value));
    case ScalarType.INT32:
    case ScalarType.UINT32:
      return isUint31(value) && to.uint31(value);
    case ScalarType.SINT32:
      return isUint31(value) && value < 2 ** 30 && to.uint31(2 * value);
    case ScalarType.INT64:
      return isInt64(value) && to.word(value);
    case ScalarType.UINT64:
      return isUint64(value) && to.word(value);
    case ScalarType.SINT64:
      return isInt64(value) && to.word((value << 1n) ^ (value >> 63n));
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return isUint31(value) && to.fixed(4, (start) => scratch.writeUInt32LE(value, start));
    case ScalarType.FIXED64:
      return isUint64(value) && to.fixed(8, (start) => scratch.writeBigUInt64LE(value, start));
    case ScalarType.SFIXED64:
      return isInt64(value) && to.fixed(8, (start) => scratch.writeBigInt64LE(value, start));
    case ScalarType.FLOAT:
      return isFloat(value) && to.fixed(4, (start) => scratch.writeFloatLE(value, start));
    case ScalarType.DOUBLE:
      return (
        typeof value === "number" && to.fixed(8, (start) => scratch.writeDoubleLE(value, start))
      );
    default: {
      const end = to.position;
      const isWritten = isMessage(value) && writeMessage(to, type, value);
      return isWritten && to.uint31(end - to.position);
    }
  }
}

function isUint31(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value === (value | 0);
}

function isInt64(value: unknown): value is bigint {
  return typeof value === "bigint" && value === BigInt.asIntN(64, value);
}

function isUint64(value: unknown): value is bigint {
  return typeof value === "bigint" && value === BigInt.asUintN(64, value);
}

/** Whether it is a number that a float can hold or is rounded to. */
function isFloat(value: unknown): value is number {
  return (
    typeof value === "number" && (Number.isFinite(Math.fround(value)) || !Number.isFinite(value))
  );
}

function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "$typeName" in value;
}

/** The maximum length of a short message. */
const bytesMax = 4096;

/** A buffer that all messages are assembled in, one after another. Workers may lack Buffer. */
const scratch = globalThis.Buffer?.allocUnsafeSlow(bytesMax);

/** For splitting a 64-bit varint. */
const parts = new DataView(new ArrayBuffer(8));

/**
 * A buffer that is filled from its end to its start, so that the length of a message is known by
 * the time it is written. Each method returns whether there was room.
 */
class Sink {
  position = bytesMax;

  byte(value: number): boolean {
    this.position--;
    scratch[this.position] = value; // ignored if it is before the start
    return this.position >= 0;
  }

  /** Writes a number from 0 to 2^31 - 1 as a varint; also used for tags and lengths. */
  uint31(value: number): boolean {
    if (value < 0x80) return this.byte(value);
    let shift = 7;
    while (shift < 28 && value >> (shift + 7) > 0) shift += 7;
    this.byte(value >> shift);
    while (shift > 0) {
      shift -= 7;
      this.byte(((value >> shift) & 0x7f) | 0x80);
    }
    return this.position >= 0;
  }

  /** Writes 64 bits as a varint. */
  word(value: bigint): boolean {
    parts.setBigUint64(0, value, true); // keeps the bits of a negative number
    const low = parts.getUint32(0, true);
    const high = parts.getUint32(4, true);
    const groups = [
      low & 0x7f,
      (low >>> 7) & 0x7f,
      (low >>> 14) & 0x7f,
      (low >>> 21) & 0x7f,
      (low >>> 28) | ((high << 4) & 0x7f),
      (high >>> 3) & 0x7f,
      (high >>> 10) & 0x7f,
      (high >>> 17) & 0x7f,
      (high >>> 24) & 0x7f,
      high >>> 31,
    ];
    let last = groups.length - 1;
    while (last > 0 && groups[last] === 0) last--;
    this.byte(groups[last] ?? 0);
    while (last > 0) {
      last--;
      this.byte((groups[last] ?? 0) | 0x80);
    }
    return this.position >= 0;
  }

  fixed(length: number, write: (start: number) => void): boolean {
    if (length > this.position) return false;
    this.position -= length;
    write(this.position);
    return true;
  }

  string(text: string): boolean {
    if (text.length > this.position) return false;
    const start = this.position - text.length;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) return this.#encoded(text);
      scratch[start + i] = unit;
    }
    this.position = start;
    return this.uint31(text.length);
  }

  bytes(bytes: Uint8Array): boolean {
    if (bytes.byteLength > this.position) return false;
    this.position -= bytes.byteLength;
    scratch.set(bytes, this.position);
    return this.uint31(bytes.byteLength);
  }

  /** A copy of everything written so far. */
  copy(): Uint8Array {
    const bytes = Buffer.allocUnsafe(bytesMax - this.position);
    scratch.copy(bytes, 0, this.position);
    return bytes;
  }

  #encoded(text: string): boolean {
    const length = Buffer.byteLength(text);
    if (length > this.position || !text.isWellFormed()) return false;
    this.position -= length;
    scratch.write(text, this.position);
    return this.uint31(length);
  }
}
