/**
 * Plain messages: those of scalars, and of messages like that. Most are, and
 * short besides; they are read and written here at a fraction of what protobuf-es
 * takes, which does all others.
 */
import type { DescField, DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { wireTypeOf } from "./wire-format.ts";

export interface PlainMessage {
  readonly desc: DescMessage;
  /** How deep messages nest in it: 1 where none do. */
  readonly depth: number;
  /** In the order of their numbers. */
  readonly fields: readonly PlainField[];
}

export interface PlainField {
  readonly desc: DescField;
  readonly name: string;
  /** Number and wire type, as they stand before the value. */
  readonly tag: number;
  /** What it is called in JSON. */
  readonly key: string;
  /** All that it may be called there, in UTF-8: the proto name, too. */
  readonly keys: readonly Uint8Array[];
  readonly type: ScalarType | PlainMessage;
  /** Whether the message has an integer of 64 bits as text. */
  readonly longAsString: boolean;
}

const known = new WeakMap<DescMessage, PlainMessage | undefined>();

/** @returns undefined for a message that is not plain. */
export function plainMessageOf(desc: DescMessage): PlainMessage | undefined {
  const found = known.get(desc);
  if (found !== undefined || known.has(desc)) return found;
  known.set(desc, undefined); // one that contains itself is not plain
  const created = createPlainMessage(desc);
  known.set(desc, created);
  return created;
}

function createPlainMessage(desc: DescMessage): PlainMessage | undefined {
  // In the message that holds them, those may be another thing.
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

/** Whether no two fields share a name in JSON. */
function haveOwnKeys(fields: readonly DescField[]): boolean {
  const keys = fields.flatMap(({ name, jsonName }) => [...new Set([name, jsonName])]);
  return new Set(keys).size === keys.length;
}

/** Far less than protobuf and JSON allow. */
const depthMax = 30;

/** A tag of those below has 31 bits. */
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
  const keys = [...new Set([key, field.name])].map((text) => Buffer.from(text));
  return { desc: field, name, tag, key, keys, type, longAsString };
}

/** One that has escapes in JSON text, or another place in an object than it was given. */
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
