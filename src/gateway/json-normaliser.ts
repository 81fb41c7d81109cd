/**
 * JSON in forms that protobuf-es reads exactly, for each kind of field.
 *
 * protobuf-es takes numbers from `JSON.parse`, which rounds them, and integers
 * in strings from `BigInt()` and `Number()`, which accept `"0x10"`, `" 1"` and
 * `""`. And where a value is wrong, it does not say where it stands.
 */
import {
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import {
  enumNormaliser,
  integerTypes,
  type JsonOptions,
  type Normaliser,
  scalarNormaliser,
} from "./json-scalar.ts";
import { type ExactJson, isJsonObject, JsonNumber } from "./json-text.ts";
import { FieldViolation } from "./violation.ts";

/** What the JSON of a message may have in it. */
interface Members {
  readonly byName: ReadonlyMap<string, Member>;
  /** Whether two different keys may say the same: a field has two names, or a oneof two members. */
  readonly mayRepeat: boolean;
}

interface Member {
  readonly field: DescField;
  readonly normalise: Normaliser;
  /** Whether null is a value; else it means that the field is not set. */
  readonly takesNull: boolean;
}

const normalisers = new WeakMap<DescMessage, Normaliser>();

/** The normaliser of a message, made once. It changes the JSON that it is given. */
export function normaliserOf(desc: DescMessage): Normaliser {
  const known = normalisers.get(desc);
  if (known !== undefined) return known;
  const special = wellKnownNormaliser(desc);
  if (special !== undefined) {
    normalisers.set(desc, special);
    return special;
  }
  const byName = new Map<string, Member>();
  const mayRepeat = desc.fields.some(({ name, jsonName, oneof }) => name !== jsonName || oneof);
  const members = { byName, mayRepeat };
  const created: Normaliser = (json, options) => readMessage(members, json, options);
  normalisers.set(desc, created); // before its fields: a message may contain itself
  for (const field of desc.fields) {
    const isPlural = field.fieldKind === "list" || field.fieldKind === "map";
    const normalise = fieldNormaliser(field);
    const member = { field, normalise, takesNull: !isPlural && takesNull(field) };
    byName.set(field.name, member).set(field.jsonName, member);
  }
  return created;
}

function readMessage(
  { byName, mayRepeat }: Members,
  json: ExactJson,
  options: JsonOptions,
): JsonValue {
  const object = asObject(json);
  const seen = mayRepeat ? new Set<DescField | DescOneof>() : undefined;
  for (const key of Object.keys(object)) {
    const value = object[key] ?? null;
    const member = byName.get(key);
    if (member === undefined) {
      object[key] = within(key, () => readUnknown(key, value, options));
      continue;
    }
    const isSet = value !== null || member.takesNull;
    if (seen !== undefined) assertNotSeen(seen, key, member.field, isSet);
    if (isSet) object[key] = readMember(key, member, value, options);
  }
  return object as JsonValue;
}

/** Notes that a key is there. @throws {FieldViolation} if another has said the same. */
function assertNotSeen(
  seen: Set<DescField | DescOneof>,
  key: string,
  field: DescField,
  isSet: boolean,
): void {
  if (seen.has(field)) throw new FieldViolation(key, "must be given once");
  seen.add(field);
  const { oneof } = field;
  if (oneof === undefined || !isSet) return;
  if (seen.has(oneof)) throw new FieldViolation(oneof.name, "must have one member only");
  seen.add(oneof);
}

/** As `within`, without a function for each of the fields that a message has. */
function readMember(
  key: string,
  { normalise }: Member,
  value: ExactJson,
  options: JsonOptions,
): JsonValue {
  try {
    return normalise(value, options);
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(key) : error;
  }
}

/** An extension, or what no field is named; the latter only where it is passed over. */
function readUnknown(key: string, json: ExactJson, options: JsonOptions): JsonValue {
  const [, typeName = ""] = /^\[(.*)\]$/.exec(key) ?? [];
  const extension = options.registry?.getExtension(typeName);
  if (extension !== undefined)
    return json === null ? null : fieldNormaliser(extension)(json, options);
  if (options.ignoreUnknownFields === true) return null;
  throw new FieldViolation("", "is not a known field");
}

function fieldNormaliser(field: DescField | DescExtension): Normaliser {
  switch (field.fieldKind) {
    case "list":
      return listNormaliser(field, elementNormaliser(field));
    case "map":
      return mapNormaliser(field, field.mapKey, elementNormaliser(field));
    default:
      return elementNormaliser(field);
  }
}

/** The normaliser of one value of the field: an item, of a list; a value, of a map. */
function elementNormaliser({
  message,
  enum: enumeration,
  scalar,
}: DescField | DescExtension): Normaliser {
  if (message !== undefined) return (json, options) => normaliserOf(message)(json, options);
  if (enumeration !== undefined) return enumNormaliser(enumeration);
  return scalarNormaliser(scalar as ScalarType);
}

function listNormaliser(field: DescField | DescExtension, element: Normaliser): Normaliser {
  return (json, options) => {
    if (!Array.isArray(json)) throw new FieldViolation("", "must be a JSON array");
    return json.map((item, i) =>
      within(`[${i}]`, () => readElement(field, element, item, options)),
    );
  };
}

function mapNormaliser(
  field: DescField | DescExtension,
  key: ScalarType,
  element: Normaliser,
): Normaliser {
  const checkKey = integerTypes.has(key) ? scalarNormaliser(key) : undefined;
  return (json, options) => {
    const object = asObject(json);
    for (const name of Object.keys(object)) {
      const value = object[name] ?? null;
      object[name] = within(`["${name}"]`, () => {
        checkKey?.(name, options);
        if (!name.isWellFormed()) {
          throw new FieldViolation("", "must not have a lone surrogate in its key");
        }
        return readElement(field, element, value, options);
      });
    }
    return object as JsonValue;
  };
}

function readElement(
  field: DescField | DescExtension,
  element: Normaliser,
  json: ExactJson,
  options: JsonOptions,
): JsonValue {
  if (json === null && !takesNull(field)) throw new FieldViolation("", "must not be null");
  return element(json, options);
}

/** For all but two types, null means that a field is not set. */
function takesNull({ message, enum: enumeration }: DescField | DescExtension): boolean {
  return (
    message?.typeName === "google.protobuf.Value" ||
    enumeration?.typeName === "google.protobuf.NullValue"
  );
}

/** google.protobuf types whose JSON is not that of a message with fields. */
function wellKnownNormaliser(desc: DescMessage): Normaliser | undefined {
  if (isWrapperDesc(desc)) return scalarNormaliser(desc.fields[0].scalar);
  switch (desc.typeName) {
    case "google.protobuf.Any":
      return readAny;
    case "google.protobuf.Timestamp":
    case "google.protobuf.Duration":
    case "google.protobuf.FieldMask":
    case "google.protobuf.Struct":
    case "google.protobuf.Value":
    case "google.protobuf.ListValue":
      return (json, options) => readChecked(desc, json, options);
    default:
      return undefined;
  }
}

function readChecked(desc: DescMessage, json: ExactJson, options: JsonOptions): JsonValue {
  const value = plain(json);
  try {
    fromJson(desc, value, options);
    return value;
  } catch (cause) {
    throw new FieldViolation("", `must be a ${desc.name} in its JSON form`, { cause });
  }
}

function readAny(json: ExactJson, options: JsonOptions): JsonValue {
  const { "@type": type, ...rest } = asObject(json);
  if (type === undefined) {
    if (Object.keys(rest).length === 0) return {};
    throw new FieldViolation("", "must have an @type");
  }
  const typeName = typeof type === "string" ? type.slice(type.lastIndexOf("/") + 1) : "";
  const desc = options.registry?.getMessage(typeName);
  if (desc === undefined) throw new FieldViolation("", "must have an @type that is known here");
  const isSpecial = wellKnownNormaliser(desc) !== undefined;
  const inner = isSpecial ? (rest["value"] ?? null) : rest;
  const value = normaliserOf(desc)(inner, options);
  if (isSpecial) return { "@type": plain(type), value };
  return { "@type": plain(type), ...(value as Record<string, JsonValue>) };
}

/** The same JSON with every number a double, for what holds JSON or a string. */
function plain(json: ExactJson): JsonValue {
  if (json instanceof JsonNumber) return scalarNormaliser(ScalarType.DOUBLE)(json, {});
  if (typeof json === "string") return scalarNormaliser(ScalarType.STRING)(json, {});
  if (Array.isArray(json)) return json.map(plain);
  if (typeof json !== "object" || json === null) return json;
  for (const key of Object.keys(json)) {
    if (!key.isWellFormed())
      throw new FieldViolation("", "must not have a lone surrogate in a key");
    json[key] = plain(json[key] ?? null);
  }
  return json as JsonValue;
}

function asObject(json: ExactJson): { [key: string]: ExactJson } {
  if (!isJsonObject(json)) throw new FieldViolation("", "must be a JSON object");
  return json;
}

function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(name) : error;
  }
}
