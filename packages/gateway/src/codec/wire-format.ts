import {
  type DescField,
  type DescMessage,
  isFieldSet,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  countValues,
  entryValues,
  memoized,
  messageValues,
  smallBytes,
  valuesPerMaskByte,
} from "./decode.ts";

/**
 * Makes checks that protobuf-es does not make, and counts values: that each known field has its own
 * wire type, that the content of a field ends with the field, and that text is UTF-8 in proto2, too.
 * Otherwise it could be a message that nobody sent. @returns its values. @throws {RangeError}
 */
export function assertWireFormat(desc: DescMessage, bytes: Uint8Array, recursionLimit = 100) {
  const reader = new BinaryReader(bytes);
  const before = countValues(messageValues(desc));
  structBytes = 0;
  // protobuf-es does not count the entries of maps that messages may be in.
  walk(fieldsOf(desc), reader, reader.len, 2 * recursionLimit);
  return countValues(0) - before;
}

interface FieldShape {
  readonly name: string;
  readonly wireTypes: readonly WireType[];
  readonly values: number;
  readonly inside?: Shapes | DescMessage | undefined;
  /** Text in which protobuf-es replaces what is not UTF-8. */
  readonly isLooseText?: boolean;
  /** Values besides those for the field, for each byte of it. */
  readonly valuesPerByte?: number;
  readonly isStruct?: boolean;
  /** Whether it may be given again without a merge. */
  readonly isPlural?: boolean;
}

type Shapes = ReadonlyMap<number, FieldShape>;

const unknown: Shapes = new Map();

/** protobuf-es keeps the number, the wire type and the bytes of each. */
const unknownValues = 3;

/** protobuf-es keeps a Struct as JSON. To merge another one, it converts all of it, and back. */
const valuesPerStructByte = 1 / 4;

/** Those of the message that is walked. */
let structBytes = 0;

/** @param group The number of the group to walk, which ends with a tag. Default: a message. */
function walk(
  shapes: Shapes,
  reader: BinaryReader,
  end: number,
  depthMax: number,
  group?: number,
): void {
  if (depthMax === 0) throw new RangeError("it nests too deep");
  let merged: Set<number> | undefined;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.EndGroup && number === group) return;
    const shape = shapes.get(number);
    countValues(shape?.values ?? unknownValues);
    if (shape !== undefined && !shape.wireTypes.includes(wireType)) {
      throw new RangeError(`${shape.name} has the wire type ${wireType}`);
    }
    const before = structBytes;
    if (merged?.has(number)) countValues(structBytes * valuesPerStructByte);
    const inside = shape?.inside;
    if (wireType === WireType.LengthDelimited) {
      const { pos } = reader;
      const length = Number(reader.uint64()); // protobuf-es drops the bits above 32
      const insideEnd = reader.pos + length;
      if (shape?.isStruct) structBytes += length;
      if (shape?.isLooseText) {
        reader.pos = pos;
        reader.string(true);
      } else if (inside !== undefined) walk(fieldsOf(inside), reader, insideEnd, depthMax - 1);
      else if (shape?.valuesPerByte) countValues(length * shape.valuesPerByte);
      reader.pos = insideEnd;
    } else if (wireType === WireType.StartGroup) {
      walk(inside === undefined ? unknown : fieldsOf(inside), reader, end, depthMax - 1, number);
    } else {
      reader.skip(wireType, number);
    }
    if (reader.pos > end) throw new RangeError("premature EOF");
    if (structBytes > before && !shape?.isPlural) merged = (merged ?? new Set()).add(number);
  }
}

const fieldsOf = memoized((desc: Shapes | DescMessage): Shapes => {
  return "typeName" in desc ? new Map(desc.fields.map((one) => [one.number, shapeOf(one)])) : desc;
});

function shapeOf(field: DescField): FieldShape {
  const { name, message: inside } = field;
  const values = inside === undefined ? 1 : 1 + messageValues(inside);
  const own = wireTypeOf(field.scalar, inside);
  const isLoose = (scalar?: ScalarType) => scalar === STRING && !field.utf8Validation;
  const isStruct = inside?.typeName === "google.protobuf.Struct";
  const isLooseText = isLoose(field.scalar);
  const one = { name, wireTypes: [own], values, inside, isStruct, isLooseText };
  if (field.fieldKind === "map") {
    const key = { name: `${name}.key`, wireTypes: [wireTypeOf(field.mapKey)], values: 0 };
    const entry: Shapes = new Map<number, FieldShape>([
      [1, { ...key, isLooseText: isLoose(field.mapKey) }],
      [2, { ...one, name: `${name}.value` }],
    ]);
    const wireTypes = [WireType.LengthDelimited];
    return { name, wireTypes, values: entryValues, inside: entry, isPlural: true };
  }
  const isPlural = field.fieldKind === "list";
  if ("delimitedEncoding" in field && field.delimitedEncoding) {
    return { ...one, wireTypes: [WireType.StartGroup], isPlural };
  }
  const isMask = field.parent.typeName === "google.protobuf.FieldMask";
  if (isMask) return { ...one, isPlural, valuesPerByte: valuesPerMaskByte };
  if (!isPlural || own === WireType.LengthDelimited) return { ...one, isPlural };
  // The writer may choose whether it is packed: each element is a quarter of a value.
  const wireTypes = [own, WireType.LengthDelimited];
  return { ...one, wireTypes, isPlural, valuesPerByte: 1 / 4 };
}

const { BYTES, DOUBLE, FIXED32, FIXED64, FLOAT, SFIXED32, SFIXED64, STRING } = ScalarType;

/** Others are varints. */
const wireTypes: ReadonlyMap<ScalarType | undefined, WireType> = new Map([
  ...[STRING, BYTES].map((type) => [type, WireType.LengthDelimited] as const),
  ...[DOUBLE, FIXED64, SFIXED64].map((type) => [type, WireType.Bit64] as const),
  ...[FLOAT, FIXED32, SFIXED32].map((type) => [type, WireType.Bit32] as const),
]);

function wireTypeOf(scalar: ScalarType | undefined, message?: DescMessage): WireType {
  if (message !== undefined) return WireType.LengthDelimited;
  return wireTypes.get(scalar) ?? WireType.Varint;
}

/** Each `toBinary` has its own, with 128 bytes outside V8's heap: a fourteenth of a gRPC call. */
let spare: BinaryWriter | undefined;

/** `toBinary`, faster for messages of single fields. */
export const writeBinary: typeof toBinary = (desc, message, options) => {
  const writer = spare ?? new BinaryWriter();
  spare = undefined;
  try {
    if (writePlain(writer, desc, message)) {
      const bytes = writer.finish();
      if (bytes.length <= smallBytes) spare = writer;
      return bytes;
    }
  } catch {
    // `toBinary` names the field.
  }
  return toBinary(desc, message, options);
};

/** @returns false if there is something that it does not write. */
function writePlain(writer: BinaryWriter, desc: DescMessage, message: Message): boolean {
  if (message.$unknown !== undefined || message.$typeName !== desc.typeName) return false;
  for (const { field, inside, isRequired, wireType, write } of plainFieldsOf(desc)) {
    if (!isFieldSet(message, field) && !isRequired) continue;
    if (write === undefined) return false;
    const value = (message as Message & Record<string, unknown>)[field.localName] as never;
    writer.tag(field.number, wireType);
    if (inside === undefined) write.call(writer, value);
    else if (!writePlain(writer.fork(), inside, value)) return false;
    else writer.join();
  }
  return true;
}

type Message = MessageShape<DescMessage>;

const plainFieldsOf = memoized(({ fields }: DescMessage) =>
  fields
    .toSorted((a, b) => a.number - b.number)
    .map((field) => {
      const { message: inside, scalar = ScalarType.INT32, oneof, presence } = field;
      const { wireTypes, isPlural, isStruct } = shapeOf(field);
      const wireType = wireTypes[0] as WireType;
      const isRequired = presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
      // A Struct is JSON, and may have a member `$typeName`.
      const isOdd = isRequired || isPlural || isStruct || oneof || wireType === WireType.StartGroup;
      const name = ScalarType[scalar].toLowerCase() as "bytes";
      const write = isOdd ? undefined : BinaryWriter.prototype[name];
      return { field, inside, isRequired, wireType, write };
    })
    // Those that are not written are looked at before anything is.
    .toSorted((a, b) => Number(a.write !== undefined) - Number(b.write !== undefined)),
);
