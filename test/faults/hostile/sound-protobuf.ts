import type { TestPlant } from "../history/check.ts";

/** Reads a CreatePlantRequest: field 1 is the plant, with 1 id, 2 name, 3 tag. */
export function readProtobufPlant(bytes: Buffer): TestPlant | undefined {
  try {
    const parts = readFields(bytes).filter(({ number, wire }) => number === 1 && wire === 2);
    // Repeated messages are merged, which is the same as reading them concatenated.
    return parts.length === 0 ? undefined : plantOf(Buffer.concat(parts.map(({ data }) => data)));
  } catch {
    return undefined;
  }
}

function plantOf(bytes: Buffer): TestPlant | undefined {
  const fields = readFields(bytes);
  const last = (number: number, wire: number) =>
    fields.findLast((field) => field.number === number && field.wire === wire);
  // Each text is decoded, even one that is overwritten.
  const texts = fields.filter(({ number, wire }) => (number === 2 || number === 3) && wire === 2);
  if (texts.some(({ data }) => !Buffer.from(data.toString("utf8")).equals(data))) return undefined;
  const id = last(1, 0)?.value;
  const name = last(2, 2)?.data.toString("utf8");
  const tag = last(3, 2)?.data.toString("utf8");
  if (id === undefined || name === undefined || /\0/.test(name + (tag ?? ""))) return undefined;
  return { id: BigInt.asIntN(64, id), name, ...(tag !== undefined && { tag }) };
}

/** The value is that of a varint, the data that of a field with a length. */
function readFields(bytes: Buffer) {
  const fields: { number: number; wire: number; value: bigint; data: Buffer }[] = [];
  let at = 0;

  function varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError("a varint of more than ten bytes");
  }

  function take(length: number): Buffer {
    if (at + length > bytes.length) throw new RangeError("a field is cut");
    at += length;
    return bytes.subarray(at - length, at);
  }

  /** @param group The number of the open group. */
  function readUntilEnd(group: number | undefined): void {
    while (at < bytes.length) {
      const tag = Number(varint());
      const [number, wire] = [Math.floor(tag / 8), tag % 8];
      if (number === 0) throw new RangeError("field number 0");
      let value = 0n;
      let data: Buffer = Buffer.alloc(0);
      if (wire === 0) value = varint();
      else if (wire === 1) take(8);
      else if (wire === 2) data = take(Number(varint()));
      else if (wire === 3) readUntilEnd(number);
      else if (wire === 4 && number === group) return;
      else if (wire === 5) take(4);
      else throw new RangeError("an unknown wire type, or the end of another group");
      if (group === undefined) fields.push({ number, wire, value, data });
    }
    if (group !== undefined) throw new RangeError("a group without an end");
  }

  readUntilEnd(undefined);
  return fields;
}
