import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { countValues, entryValues, messageValues } from "./decode.ts";

/**
 * Makes checks that protobuf-es does not make, and counts values: that each known field has its own
 * wire type, that the content of a field ends with the field, and that text is UTF-8 in proto2, too.
 * Otherwise the result could be a message that no client has sent. @throws {RangeError}
 */
export function assertWireFormat(desc: DescMessage, bytes: Uint8Array, recursionLimit = 100): void {
  const reader = new BinaryReader(bytes);
  countValues(messageValues(desc));
  // protobuf-es does not count the entries of maps that messages may be in.
  walk(fieldsOf(desc), reader, reader.len, 2 * recursionLimit);
}

interface FieldShape {
  readonly name: string;
  readonly wireTypes: readonly WireType[];
  readonly values: number;
  readonly inside?: Shapes | DescMessage | undefined;
  /** Text in which protobuf-es replaces what is not UTF-8. */
  readonly isLooseText?: boolean;
  readonly isPackable?: boolean;
}

type Shapes = ReadonlyMap<number, FieldShape>;

const unknown: Shapes = new Map();

/** protobuf-es keeps the number, the wire type and the bytes of each. */
const unknownValues = 3;

/** As many elements of a packed list are one value. */
const packedPerValue = 4;

/** @param group The number of the group to walk, which ends with a tag. Default: a message. */
function walk(
  shapes: Shapes,
  reader: BinaryReader,
  end: number,
  depthMax: number,
  group?: number,
): void {
  if (depthMax === 0) throw new RangeError("messages are nested too deep");
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.EndGroup && number === group) return;
    const shape = shapes.get(number);
    countValues(shape?.values ?? unknownValues);
    if (shape !== undefined && !shape.wireTypes.includes(wireType)) {
      throw new RangeError(`${shape.name} has the wire type ${wireType}`);
    }
    const inside = shape?.inside;
    if (shape?.isLooseText) {
      reader.string(true);
    } else if (wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      const insideEnd = reader.pos + length;
      if (insideEnd > end) throw new RangeError("premature EOF");
      if (inside !== undefined) walk(fieldsOf(inside), reader, insideEnd, depthMax - 1);
      else if (shape?.isPackable) countValues(length / packedPerValue);
      reader.pos = insideEnd;
    } else if (wireType === WireType.StartGroup) {
      walk(inside === undefined ? unknown : fieldsOf(inside), reader, end, depthMax - 1, number);
    } else {
      reader.skip(wireType, number);
    }
    if (reader.pos > end) throw new RangeError("premature EOF");
  }
}

const known = new WeakMap<DescMessage, Shapes>();

function fieldsOf(desc: Shapes | DescMessage): Shapes {
  if (!("typeName" in desc)) return desc;
  let shapes = known.get(desc);
  if (shapes === undefined) {
    shapes = new Map(desc.fields.map((one) => [one.number, shapeOf(one)]));
    known.set(desc, shapes);
  }
  return shapes;
}

function shapeOf(field: DescField): FieldShape {
  const { name, message: inside } = field;
  const values = inside === undefined ? 1 : 1 + messageValues(inside);
  const isLooseText = isLoose(field, field.scalar);
  if (field.fieldKind === "map") {
    const key = { name: `${name}.key`, wireTypes: [wireTypeOf(field.mapKey)], values: 0 };
    const value = { name: `${name}.value`, wireTypes: [wireTypeOf(field.scalar, inside)], values };
    const entry: Shapes = new Map<number, FieldShape>([
      [1, { ...key, isLooseText: isLoose(field, field.mapKey) }],
      [2, { ...value, inside, isLooseText }],
    ]);
    return { name, wireTypes: [WireType.LengthDelimited], values: entryValues, inside: entry };
  }
  if ("delimitedEncoding" in field && field.delimitedEncoding) {
    return { name, wireTypes: [WireType.StartGroup], values, inside };
  }
  const own = wireTypeOf(field.scalar, inside);
  // The writer may choose whether it is packed.
  const isPackable = field.fieldKind === "list" && own !== WireType.LengthDelimited;
  const wireTypes = isPackable ? [own, WireType.LengthDelimited] : [own];
  return { name, wireTypes, values, inside, isLooseText, isPackable };
}

function isLoose({ utf8Validation }: DescField, scalar: ScalarType | undefined): boolean {
  return scalar === ScalarType.STRING && !utf8Validation;
}

function wireTypeOf(scalar: ScalarType | undefined, message?: DescMessage): WireType {
  switch (scalar) {
    case undefined:
      return message === undefined ? WireType.Varint : WireType.LengthDelimited;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}
