import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/**
 * Makes checks that protobuf-es does not make: that each known field has its own wire type, that
 * the content of a field ends with the field, and that text is UTF-8 in proto2, too. protobuf-es
 * would read an id from the length of something else, or a text past the end of its message, or
 * replace what is not UTF-8. The result would be a message that no client has sent.
 *
 * @param fieldsMax The maximum number of fields, known or not, at every depth of known messages.
 * Default: no limit.
 * @throws {RangeError}
 */
export function assertWireFormat(
  desc: DescMessage,
  bytes: Uint8Array,
  fieldsMax: number = Number.POSITIVE_INFINITY,
): void {
  const reader = new BinaryReader(bytes);
  walk(fieldsOf(desc), reader, reader.len, { fieldsMax, fields: 0 });
}

/** The wire format of a field. */
interface FieldShape {
  readonly name: string;
  readonly wireTypes: readonly WireType[];
  /** Of a message: what is inside. */
  readonly inside?: Shapes | DescMessage | undefined;
  /** Text in which protobuf-es replaces what is not UTF-8. */
  readonly isLooseText?: boolean;
}

type Shapes = ReadonlyMap<number, FieldShape>;

const unknown: Shapes = new Map();

interface Count {
  readonly fieldsMax: number;
  fields: number;
}

/** @param group The number of the group to walk, which ends with a tag. Default: a message. */
function walk(
  shapes: Shapes,
  reader: BinaryReader,
  end: number,
  count: Count,
  group?: number,
): void {
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.EndGroup && number === group) return;
    if (++count.fields > count.fieldsMax) {
      throw new RangeError(`more than ${count.fieldsMax} fields`);
    }
    const shape = shapes.get(number);
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
      if (inside !== undefined) walk(fieldsOf(inside), reader, insideEnd, count);
      reader.pos = insideEnd;
    } else if (wireType === WireType.StartGroup) {
      walk(inside === undefined ? unknown : fieldsOf(inside), reader, end, count, number);
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
  const isLooseText = isLoose(field, field.scalar);
  if (field.fieldKind === "map") {
    const key = { name: `${name}.key`, wireTypes: [wireTypeOf(field.mapKey)] };
    const value = { name: `${name}.value`, wireTypes: [wireTypeOf(field.scalar, inside)] };
    const entry: Shapes = new Map<number, FieldShape>([
      [1, { ...key, isLooseText: isLoose(field, field.mapKey) }],
      [2, { ...value, inside, isLooseText }],
    ]);
    return { name, wireTypes: [WireType.LengthDelimited], inside: entry };
  }
  if ("delimitedEncoding" in field && field.delimitedEncoding) {
    return { name, wireTypes: [WireType.StartGroup], inside };
  }
  const own = wireTypeOf(field.scalar, inside);
  // The writer may choose whether it is packed.
  const isPackable = field.fieldKind === "list" && own !== WireType.LengthDelimited;
  const wireTypes = isPackable ? [own, WireType.LengthDelimited] : [own];
  return { name, wireTypes, inside, isLooseText };
}

function isLoose({ utf8Validation }: DescField, scalar: ScalarType | undefined): boolean {
  return scalar === ScalarType.STRING && !utf8Validation;
}

/** Whether a message, or one in it, has text in which protobuf-es replaces what is not UTF-8. */
export function hasLooseText(desc: DescMessage): boolean {
  const all = new Set([fieldsOf(desc)]);
  for (const shapes of all) {
    for (const { isLooseText, inside } of shapes.values()) {
      if (isLooseText) return true;
      if (inside !== undefined) all.add(fieldsOf(inside));
    }
  }
  return false;
}

/** @param scalar Undefined for a message or an enum. */
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
