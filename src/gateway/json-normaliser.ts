/**
 * JSON in forms that protobuf-es reads exactly, for each kind of field.
 *
 * protobuf-es takes numbers from `JSON.parse`, which rounds them, and integers
 * in strings from `BigInt()` and `Number()`, which accept `"0x10"`, `" 1"` and
 * `""`.
 */
import {
  type DescField,
  type DescMessage,
  type JsonReadOptions,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { integerFromDecimal } from "./integer.ts";
import { type ExactJson, JsonNumber } from "./json-text.ts";
import { FieldViolation } from "./violation.ts";

export type JsonOptions = Partial<JsonReadOptions>;

/** Turns JSON for one kind of value into the same value, exact. @throws {FieldViolation} */
export type Normaliser = (json: ExactJson, options: JsonOptions) => JsonValue;

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
  const fields = new Map<string, Normaliser>();
  const created = (json: ExactJson, options: JsonOptions) => readMessage(fields, json, options);
  normalisers.set(desc, created); // before its fields: a message may contain itself
  for (const field of desc.fields) {
    const normaliser = fieldNormaliser(field);
    fields.set(field.name, normaliser).set(field.jsonName, normaliser);
  }
  return created;
}

function readMessage(
  fields: ReadonlyMap<string, Normaliser>,
  json: ExactJson,
  options: JsonOptions,
): JsonValue {
  const object = asObject(json);
  for (const key of Object.keys(object)) {
    const normaliser = fields.get(key);
    if (normaliser === undefined) {
      const isExtension = key.startsWith("[") && key.endsWith("]");
      if (options.ignoreUnknownFields !== true && !isExtension) {
        throw new FieldViolation(key, "is not a known field");
      }
      object[key] = plain(object[key] ?? null);
    } else if (object[key] !== null) {
      const value = object[key] ?? null;
      object[key] = within(key, () => normaliser(value, options));
    }
  }
  return object as JsonValue;
}

function fieldNormaliser(field: DescField): Normaliser {
  switch (field.fieldKind) {
    case "scalar":
      return scalarNormaliser(field.scalar);
    case "enum":
      return readEnum;
    case "message":
      return (json, options) => normaliserOf(field.message)(json, options);
    case "list":
      return listNormaliser(elementNormaliser(field.listKind, field));
    case "map":
      return mapNormaliser(field.mapKey, elementNormaliser(field.mapKind, field));
  }
}

function elementNormaliser(
  kind: "scalar" | "enum" | "message",
  field: (DescField & { fieldKind: "list" }) | (DescField & { fieldKind: "map" }),
): Normaliser {
  if (kind === "scalar" && field.scalar !== undefined) return scalarNormaliser(field.scalar);
  const { message } = field;
  return message === undefined ? readEnum : (json, options) => normaliserOf(message)(json, options);
}

function listNormaliser(element: Normaliser): Normaliser {
  return (json, options) => {
    if (!Array.isArray(json)) throw new FieldViolation("", "must be a JSON array");
    return json.map((item, i) =>
      item === null ? null : within(`[${i}]`, () => element(item, options)),
    );
  };
}

function mapNormaliser(key: ScalarType, element: Normaliser): Normaliser {
  const checkKey = integerTypes.has(key) ? scalarNormaliser(key) : undefined;
  return (json, options) => {
    const object = asObject(json);
    for (const name of Object.keys(object)) {
      const value = object[name] ?? null;
      object[name] = within(`["${name}"]`, () => {
        checkKey?.(name, options);
        return value === null ? null : element(value, options);
      });
    }
    return object as JsonValue;
  };
}

const integerTypes = new Map<ScalarType, { bits: 32 | 64; signed: boolean }>([
  [ScalarType.INT32, { bits: 32, signed: true }],
  [ScalarType.SINT32, { bits: 32, signed: true }],
  [ScalarType.SFIXED32, { bits: 32, signed: true }],
  [ScalarType.UINT32, { bits: 32, signed: false }],
  [ScalarType.FIXED32, { bits: 32, signed: false }],
  [ScalarType.INT64, { bits: 64, signed: true }],
  [ScalarType.SINT64, { bits: 64, signed: true }],
  [ScalarType.SFIXED64, { bits: 64, signed: true }],
  [ScalarType.UINT64, { bits: 64, signed: false }],
  [ScalarType.FIXED64, { bits: 64, signed: false }],
]);

function scalarNormaliser(type: ScalarType): Normaliser {
  const integer = integerTypes.get(type);
  if (integer !== undefined) return integerNormaliser(integer);
  switch (type) {
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return readFloat;
    case ScalarType.STRING:
      return readString;
    case ScalarType.BOOL:
      return readBool;
    default:
      return plain; // bytes
  }
}

function integerNormaliser(type: { bits: 32 | 64; signed: boolean }): Normaliser {
  const max = 2n ** BigInt(type.signed ? type.bits - 1 : type.bits) - 1n;
  const min = type.signed ? -max - 1n : 0n;
  const description = `must be a ${type.bits}-bit ${type.signed ? "" : "unsigned "}integer`;
  return (json) => {
    const digits = integerDigits(json);
    if (digits === undefined) throw new FieldViolation("", description);
    const value = BigInt(digits);
    if (value < min || value > max) {
      throw new FieldViolation("", `${description}, from ${min} to ${max}`);
    }
    return type.bits === 64 ? digits : Number(digits);
  };
}

function integerDigits(json: ExactJson): string | undefined {
  if (json instanceof JsonNumber) return integerFromDecimal(json.source);
  if (typeof json === "number") return Number.isInteger(json) ? String(json) : undefined;
  // 20 characters hold every 64-bit integer; a longer string is not worth reading.
  if (typeof json !== "string" || json.length > 20) return undefined;
  return /^-?(0|[1-9][0-9]*)$/.test(json) ? json : undefined;
}

function readFloat(json: ExactJson): JsonValue {
  if (typeof json === "number" || json instanceof JsonNumber) return plain(json);
  const isNumber =
    typeof json === "string" &&
    /^(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|NaN|-?Infinity)$/.test(json);
  if (!isNumber) throw new FieldViolation("", "must be a number");
  return json;
}

function readString(json: ExactJson): JsonValue {
  if (typeof json !== "string") throw new FieldViolation("", "must be a string");
  if (!json.isWellFormed()) throw new FieldViolation("", "must not contain a lone surrogate");
  return json;
}

function readBool(json: ExactJson): JsonValue {
  if (typeof json !== "boolean") throw new FieldViolation("", "must be true or false");
  return json;
}

function readEnum(json: ExactJson): JsonValue {
  if (!(json instanceof JsonNumber)) return plain(json);
  const digits = integerFromDecimal(json.source);
  if (digits === undefined) throw new FieldViolation("", "must be the name or number of a value");
  return Number(digits);
}

/** google.protobuf types whose JSON is not that of a message with fields. */
function wellKnownNormaliser(desc: DescMessage): Normaliser | undefined {
  if (desc.file.proto.package !== "google.protobuf") return undefined;
  const [value] = desc.fields;
  if (desc.name === "Any") return readAny;
  if (desc.name.endsWith("Value") && desc.fields.length === 1 && value?.scalar !== undefined) {
    return scalarNormaliser(value.scalar);
  }
  const custom = ["Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue"];
  return custom.includes(desc.name) ? plain : undefined;
}

function readAny(json: ExactJson, options: JsonOptions): JsonValue {
  const object = asObject(json);
  const { "@type": type, ...rest } = object;
  const typeName = typeof type === "string" ? type.slice(type.lastIndexOf("/") + 1) : "";
  const desc = options.registry?.getMessage(typeName);
  if (type === undefined || desc === undefined) return plain(object);
  const isSpecial = wellKnownNormaliser(desc) !== undefined;
  const inner = isSpecial ? (rest["value"] ?? null) : rest;
  const value = normaliserOf(desc)(inner, options);
  if (isSpecial) return { "@type": plain(type), value };
  return { "@type": plain(type), ...(value as Record<string, JsonValue>) };
}

/** The same JSON with every number a double, for what holds doubles or no numbers. */
function plain(json: ExactJson): JsonValue {
  if (json instanceof JsonNumber) return Number(json.source);
  if (Array.isArray(json)) return json.map(plain);
  if (typeof json !== "object" || json === null) return json;
  for (const key of Object.keys(json)) json[key] = plain(json[key] ?? null);
  return json as JsonValue;
}

function asObject(json: ExactJson): { [key: string]: ExactJson } {
  const isObject =
    typeof json === "object" &&
    json !== null &&
    !Array.isArray(json) &&
    !(json instanceof JsonNumber);
  if (!isObject) throw new FieldViolation("", "must be a JSON object");
  return json;
}

function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(name) : error;
  }
}
