import {
  type BinaryWriteOptions,
  type DescField,
  type DescMessage,
  isFieldSet,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { wireTypeOf } from "./wire-format.ts";

/**
 * Writes messages that contain only scalars and such messages, one after another. `toBinary` allocates
 * a buffer for each.
 */
let spare: BinaryWriter | undefined;

/** A longer message does not keep its buffer. */
const keptBytesMax = 16 * 1024;

/** Writes a message as `toBinary` does. This takes a tenth of the CPU off a gRPC call. */
export function writeBinary<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options?: Partial<BinaryWriteOptions>,
): Uint8Array {
  const bytes = tryPlain(desc, message);
  return bytes ?? toBinary(desc, message, options);
}

/** @returns undefined for a message that is not plain, or cannot be written: `toBinary` says why. */
function tryPlain(desc: DescMessage, message: MessageShape<DescMessage>): Uint8Array | undefined {
  const write = plainWriteOf(desc);
  if (write === undefined) return undefined;
  const writer = spare ?? new BinaryWriter();
  spare = undefined; // a getter of the message may write another
  try {
    if (!write(writer, message)) return undefined;
    const bytes = writer.finish();
    if (bytes.length <= keptBytesMax) spare = writer;
    return bytes;
  } catch {
    return undefined;
  }
}

/** @returns false if the value is not plain. */
type Write = (writer: BinaryWriter, value: unknown) => boolean;

const known = new WeakMap<DescMessage, Write | undefined>();

function plainWriteOf(desc: DescMessage): Write | undefined {
  const found = known.get(desc);
  if (found !== undefined || known.has(desc)) return found;
  known.set(desc, undefined); // a message that contains itself is not plain
  const write = createWrite(desc);
  known.set(desc, write);
  return write;
}

function createWrite({ typeName, fields }: DescMessage): Write | undefined {
  const members: { readonly field: DescField; readonly write: Write }[] = [];
  for (const field of fields.toSorted((a, b) => a.number - b.number)) {
    const write = fieldWriteOf(field);
    if (write === undefined) return undefined;
    members.push({ field, write });
  }
  return (writer, value) => {
    const message = value as MessageShape<DescMessage> & Record<string, unknown>;
    if (message.$typeName !== typeName || message.$unknown !== undefined) return false;
    for (const { field, write } of members) {
      if (isFieldSet(message, field) && !write(writer, message[field.localName])) return false;
    }
    return true;
  };
}

function fieldWriteOf(field: DescField): Write | undefined {
  const { number, oneof, presence, fieldKind } = field;
  if (oneof !== undefined || presence === FeatureSet_FieldPresence.LEGACY_REQUIRED)
    return undefined;
  if (fieldKind === "scalar") {
    const wireType = wireTypeOf(field.scalar);
    const name = ScalarType[field.scalar].toLowerCase() as "int64"; // they have one method each
    const writeScalar: (this: BinaryWriter, value: never) => unknown = BinaryWriter.prototype[name];
    return (writer, value) => {
      writer.tag(number, wireType);
      writeScalar.call(writer, value as never);
      return true;
    };
  }
  if (fieldKind !== "message" || field.delimitedEncoding) return undefined;
  if (isWrapperDesc(field.message)) return undefined; // a field holds the value alone
  const write = plainWriteOf(field.message);
  return (
    write &&
    ((writer, value) => {
      writer.tag(number, WireType.LengthDelimited).fork();
      const isWritten = write(writer, value);
      writer.join();
      return isWritten;
    })
  );
}
