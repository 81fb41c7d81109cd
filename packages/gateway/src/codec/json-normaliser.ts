/**
 * Converts JSON to forms that protobuf-es reads exactly, for each kind of field.
 *
 * protobuf-es takes numbers from `JSON.parse`, which rounds them, and integers in strings from
 * `BigInt()` and `Number()`, which accept `"0x10"`, `" 1"` and `""`. Its errors do not say where
 * the value is.
 */
import {
  type DescExtension,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import {
  asObject,
  assertMayBeUnknown,
  createMembers,
  type Members,
  normaliseMembers,
  takesNull,
  within,
} from "./json-members.ts";
import {
  enumNormaliser,
  integerTypes,
  type JsonOptions,
  type Normaliser,
  scalarNormaliser,
} from "./json-scalar.ts";
import { type ExactJson, JsonNumber } from "./json-value.ts";
import { FieldViolation } from "./violation.ts";

const normalisers = new WeakMap<DescMessage, Normaliser>();

/** The normaliser of a message, created once. It changes the JSON in place. */
export function normaliserOf(desc: DescMessage): Normaliser {
  const known = normalisers.get(desc);
  if (known !== undefined) return known;
  const special = wellKnownNormaliser(desc);
  if (special !== undefined) {
    normalisers.set(desc, special);
    return special;
  }
  // Created on first use, because a message may contain itself.
  let members: Members | undefined;
  const created: Normaliser = (json, options) => {
    members ??= createMembers(desc, fieldNormaliser);
    const object = asObject(json);
    normaliseMembers(members, object, options, readUnknown);
    return object as JsonValue;
  };
  normalisers.set(desc, created);
  return created;
}

/**
 * Reads an extension or an unknown member. The latter is accepted only if unknown members are
 * ignored.
 */
function readUnknown(key: string, json: ExactJson, options: JsonOptions): JsonValue {
  const [, typeName = ""] = /^\[(.*)\]$/.exec(key) ?? [];
  const extension = options.registry?.getExtension(typeName);
  if (extension !== undefined)
    return json === null ? null : fieldNormaliser(extension)(json, options);
  assertMayBeUnknown(options);
  return null;
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

/** The normaliser for one value of a field: an item of a list, or a value of a map. */
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
        // A key has only one form, even if a value may have several.
        checkKey?.(plainInteger.test(name) ? name : "", options);
        if (!name.isWellFormed()) {
          throw new FieldViolation("", "must not have a lone surrogate in its key");
        }
        return readElement(field, element, value, options);
      });
    }
    return object as JsonValue;
  };
}

const plainInteger = /^-?(0|[1-9]\d*)$/;

function readElement(
  field: DescField | DescExtension,
  element: Normaliser,
  json: ExactJson,
  options: JsonOptions,
): JsonValue {
  if (json === null && !takesNull(field)) throw new FieldViolation("", "must not be null");
  return element(json, options);
}

/** google.protobuf types whose JSON is not an object with their fields. */
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
    if (desc.typeName === "google.protobuf.Timestamp") assertDateExists(String(value));
    return value;
  } catch (cause) {
    throw new FieldViolation("", `must be a ${desc.name} in its JSON form`, { cause });
  }
}

/** protobuf-es turns February 30 into March 2, and 24:00 into the next day. */
function assertDateExists(text: string): void {
  const [year = 0, month = 0, day = 0, hour = 0] = text.split(/[-T:]/, 4).map(Number);
  const daysInMonth = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  if (day > daysInMonth || hour > 23) throw new Error("there is no such date");
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

/** The same JSON with every number as a double, for types that contain JSON or a string. */
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
