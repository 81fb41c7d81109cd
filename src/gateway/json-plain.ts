/**
 * JSON of plain messages, straight into the message: those of scalars, and of
 * messages like that. Most requests are, and protobuf-es, which reads all others,
 * makes a map and a set for each message.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { asObject, assertMayBeUnknown, createMembers, readMembers } from "./json-members.ts";
import { integerTypes, type JsonReader, scalarNormaliser } from "./json-scalar.ts";

type Message = MessageShape<DescMessage>;

const readers = new WeakMap<DescMessage, JsonReader<Message> | undefined>();

/** The reader of a message, made once; undefined for one that is not plain. */
export function plainReaderOf(desc: DescMessage): JsonReader<Message> | undefined {
  if (!readers.has(desc)) {
    readers.set(desc, undefined); // one that contains itself is not plain
    readers.set(desc, createReader(desc));
  }
  return readers.get(desc);
}

function createReader(desc: DescMessage): JsonReader<Message> | undefined {
  // Those have a JSON of their own, or are another thing in the message that holds them.
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const fieldReaders = new Map<DescField, JsonReader<unknown>>();
  for (const field of desc.fields) {
    const reader = fieldReader(field);
    if (reader === undefined) return undefined;
    fieldReaders.set(field, reader);
  }
  const members = createMembers(desc, (field) => fieldReaders.get(field) as JsonReader<unknown>);
  return (json, options) => {
    const message = create(desc) as Message & Record<string, unknown>;
    readMembers(members, asObject(json), {
      options,
      known: (_key, value, { localName }) => {
        message[localName] = value;
      },
      unknown: () => assertMayBeUnknown(options),
    });
    return message;
  };
}

function fieldReader(field: DescField): JsonReader<unknown> | undefined {
  if (field.oneof !== undefined) return undefined;
  if (field.fieldKind === "message") return plainReaderOf(field.message);
  if (field.fieldKind !== "scalar") return undefined;
  const normalise = scalarNormaliser(field.scalar);
  const convert = scalarConverter(field.scalar, field.longAsString);
  return (json, options) => convert(normalise(json, options));
}

/** What a scalar is in a message, of its JSON in the form that a normaliser leaves. */
function scalarConverter(type: ScalarType, longAsString: boolean): (json: JsonValue) => unknown {
  if (integerTypes.get(type)?.bits === 64) {
    return longAsString ? String : (json) => BigInt(json as number | string);
  }
  switch (type) {
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return Number; // NaN and the infinities are strings
    case ScalarType.BYTES:
      return (json) => base64Decode(json as string);
    default:
      return (json) => json;
  }
}
