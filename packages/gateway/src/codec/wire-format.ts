import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/**
 * Makes checks that protobuf-es does not make: that each known field has its own wire type, and
 * that the content of a field ends with the field. protobuf-es would read an id from the length of
 * something else, or a text past the end of its message. Other implementations reject such bytes.
 * The result would be a message that no client has sent.
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
  const reader = new FieldReader(bytes, fieldsMax);
  walk(fieldsOf(desc), reader, reader.len);
}

class FieldReader extends BinaryReader {
  readonly #fieldsMax: number;
  #fields = 0;

  constructor(bytes: Uint8Array, fieldsMax: number) {
    super(bytes);
    this.#fieldsMax = fieldsMax;
  }

  override tag(): [number, WireType] {
    const tag = super.tag();
    if (tag[1] !== WireType.EndGroup && ++this.#fields > this.#fieldsMax) {
      throw new RangeError(`more than ${this.#fieldsMax} fields`);
    }
    return tag;
  }
}

/** The wire format of a field. */
interface FieldShape {
  readonly name: string;
  readonly wireTypes: readonly WireType[];
  readonly inside: (() => Shapes) | undefined;
}

type Shapes = ReadonlyMap<number, FieldShape>;

function walk(shapes: Shapes, reader: BinaryReader, end: number): void {
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const shape = shapes.get(number);
    if (shape !== undefined && !shape.wireTypes.includes(wireType)) {
      throw new RangeError(`${shape.name} has the wire type ${wireType}`);
    }
    if (wireType === WireType.LengthDelimited) {
      const length = reader.uint32();
      const insideEnd = reader.pos + length;
      if (insideEnd > end) throw new RangeError("premature EOF");
      if (shape?.inside !== undefined) walk(shape.inside(), reader, insideEnd);
      reader.pos = insideEnd;
    } else {
      reader.skip(wireType, number);
    }
    if (reader.pos > end) throw new RangeError("premature EOF");
  }
}

const known = new WeakMap<DescMessage, Shapes>();

function fieldsOf(desc: DescMessage): Shapes {
  const shapes = known.get(desc) ?? new Map(desc.fields.map((one) => [one.number, shapeOf(one)]));
  known.set(desc, shapes);
  return shapes;
}

function shapeOf(field: DescField): FieldShape {
  const { name } = field;
  const { message } = field;
  const inside = message && (() => fieldsOf(message));
  if (field.fieldKind === "map") {
    const entry: Shapes = new Map([
      [1, { name: `${name}.key`, wireTypes: [wireTypeOf(field.mapKey)], inside: undefined }],
      [2, { name: `${name}.value`, wireTypes: [wireTypeOf(field.scalar, message)], inside }],
    ]);
    return { name, wireTypes: [WireType.LengthDelimited], inside: () => entry };
  }
  if ("delimitedEncoding" in field && field.delimitedEncoding) {
    return { name, wireTypes: [WireType.StartGroup], inside: undefined };
  }
  const own = wireTypeOf(field.scalar, message);
  // The writer may choose whether it is packed.
  const isPackable = field.fieldKind === "list" && own !== WireType.LengthDelimited;
  return { name, wireTypes: isPackable ? [own, WireType.LengthDelimited] : [own], inside };
}

/** @param scalar Undefined for a message or an enum. */
export function wireTypeOf(scalar: ScalarType | undefined, message?: DescMessage): WireType {
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
