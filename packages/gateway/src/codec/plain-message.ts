/**
 * Plain messages contain only scalars and other plain messages. Most messages are plain, and short.
 * They are read and written here at a fraction of protobuf-es's cost. protobuf-es handles all
 * others.
 */
import type { DescField, DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { wireTypeOf } from "./wire-format.ts";

export interface PlainMessage {
  readonly desc: DescMessage;
  /** The nesting depth: 1 if it contains no message. */
  readonly depth: number;
  /** In the order of their numbers. */
  readonly fields: readonly PlainField[];
}

export interface PlainField {
  readonly desc: DescField;
  readonly name: string;
  /** Number and wire type, encoded as the tag before the value. */
  readonly tag: number;
  /** Its JSON name. */
  readonly key: string;
  /** All its names in JSON, in UTF-8, including the proto name. */
  readonly keys: readonly Uint8Array[];
  readonly type: ScalarType | PlainMessage;
  /** Whether the message has a 64-bit integer that is stored as text. */
  readonly longAsString: boolean;
}

const utf8 = new TextEncoder();

const known = new WeakMap<DescMessage, PlainMessage | undefined>();

/** @returns undefined if the message is not plain. */
export function plainMessageOf(desc: DescMessage): PlainMessage | undefined {
  const found = known.get(desc);
  if (found !== undefined || known.has(desc)) return found;
  known.set(desc, undefined); // a message that contains itself is not plain
  const created = createPlainMessage(desc);
  known.set(desc, created);
  return created;
}

function createPlainMessage(desc: DescMessage): PlainMessage | undefined {
  // In JSON, these may differ from a message with their fields.
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  const fields: PlainField[] = [];
  let depth = 1;
  for (const field of desc.fields.toSorted((a, b) => a.number - b.number)) {
    const plain = createPlainField(field);
    if (plain === undefined) return undefined;
    if (typeof plain.type === "object") depth = Math.max(depth, plain.type.depth + 1);
    fields.push(plain);
  }
  const isClear = haveOwnKeys(desc.fields) && depth <= depthMax;
  return isClear ? { desc, depth, fields } : undefined;
}

/** Whether no two fields have a JSON name in common. */
function haveOwnKeys(fields: readonly DescField[]): boolean {
  const keys = fields.flatMap(({ name, jsonName }) => [...new Set([name, jsonName])]);
  return new Set(keys).size === keys.length;
}

/** Far below the limits of protobuf and JSON. */
const depthMax = 30;

/** A tag of a lower number has at most 31 bits. */
const numberEnd = 2 ** 28;

function createPlainField(field: DescField): PlainField | undefined {
  const { number, oneof, presence, localName: name } = field;
  const isRequired = presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
  if (number >= numberEnd || unusualKey.test(field.jsonName)) return undefined;
  const type = oneof === undefined && !isRequired ? plainTypeOf(field) : undefined;
  if (type === undefined) return undefined;
  const tag = (number << 3) | wireTypeOf(field.scalar, field.message);
  const longAsString = field.fieldKind === "scalar" && field.longAsString;
  const key = field.jsonName;
  const keys = [...new Set([key, field.name])].map((text) => utf8.encode(text));
  return { desc: field, name, tag, key, keys, type, longAsString };
}

/**
 * Keys with escapes in JSON text, or whose place in an object differs from the order of insertion.
 */
const unusualKey = /["\\]|\p{Cc}|^\d/u;

function plainTypeOf(field: DescField): PlainField["type"] | undefined {
  switch (field.fieldKind) {
    case "message":
      return field.delimitedEncoding ? undefined : plainMessageOf(field.message);
    case "scalar":
      return field.scalar;
    default:
      return undefined;
  }
}
