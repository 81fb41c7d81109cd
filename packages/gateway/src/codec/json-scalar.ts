/** JSON of scalars and enums, in forms that protobuf-es reads exactly. */
import {
  type DescEnum,
  type JsonReadOptions,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { integerFromDecimal } from "./json-integer.ts";
import { type ExactJson, JsonNumber } from "./json-value.ts";
import { FieldViolation } from "./violation.ts";

export interface JsonOptions extends Partial<JsonReadOptions> {
  /**
   * Whether to reject 64-bit integers past 2^53 that are numbers: clients that read JSON to doubles
   * have rounded them before they send them. Default: no.
   */
  readonly refusesUnsafe?: boolean;
}

/** Converts the JSON of one kind of value to the same value, exactly. @throws {FieldViolation} */
export type Normaliser = (json: ExactJson, options: JsonOptions) => JsonValue;

/** The integer types of protobuf. */
export const integerTypes: ReadonlyMap<ScalarType, { bits: 32 | 64; signed: boolean }> = new Map([
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

export function scalarNormaliser(type: ScalarType): Normaliser {
  const integer = integerTypes.get(type);
  if (integer !== undefined) return integerNormaliser(integer);
  switch (type) {
    case ScalarType.DOUBLE:
      return (json) => readFloat(json, Number.MAX_VALUE);
    case ScalarType.FLOAT:
      return (json) => readFloat(json, floatMax);
    case ScalarType.BOOL:
      return readBool;
    case ScalarType.BYTES:
      return readBytes;
    default:
      return readString;
  }
}

export function enumNormaliser(desc: DescEnum): Normaliser {
  const names = new Set(desc.values.flatMap(({ name, jsonName }) => [name, jsonName]));
  const numbers = new Set(desc.values.map(({ number }) => number));
  return (json, { ignoreUnknownFields }) => {
    if (typeof json === "string") {
      if (names.has(json) || ignoreUnknownFields === true) return json;
    } else {
      const number = Number(integerDigits(json) ?? Number.NaN);
      const isInRange = number >= -(2 ** 31) && number < 2 ** 31;
      if (desc.open ? isInRange : numbers.has(number)) return number;
      if (json === null) return json; // google.protobuf.NullValue
    }
    throw new FieldViolation("", `must be a value of ${desc.name}`);
  };
}

/** Too long to be read. */
const longInteger = /^-?\d{20,}$/;

function sourceOf(json: ExactJson): string {
  if (typeof json === "string") return json;
  return json instanceof JsonNumber ? json.source : "";
}

function integerNormaliser(type: { bits: 32 | 64; signed: boolean }): Normaliser {
  const max = 2n ** BigInt(type.signed ? type.bits - 1 : type.bits) - 1n;
  const min = type.signed ? -max - 1n : 0n;
  const least = Number(min);
  const most = Number(max);
  const description = `must be a ${type.bits}-bit ${type.signed ? "" : "unsigned "}integer`;
  return (json, { refusesUnsafe }) => {
    if (typeof json === "number" && Number.isSafeInteger(json) && json >= least && json <= most) {
      return json === 0 ? 0 : json; // there is no -0
    }
    const digits =
      typeof json === "string" ? integerInString(json, type.bits) : integerDigits(json);
    if (digits === undefined || BigInt(digits) < min || BigInt(digits) > max) {
      const isWhole = digits !== undefined || longInteger.test(sourceOf(json));
      const range = isWhole ? `, from ${min} to ${max}` : "";
      throw new FieldViolation("", description + range);
    }
    const isUnsafe = typeof json !== "string" && !Number.isSafeInteger(Number(digits));
    if (refusesUnsafe === true && isUnsafe) {
      throw new FieldViolation("", "must be text past 2^53: as a number, it may be rounded");
    }
    return type.bits === 64 ? digits : Number(BigInt(digits)); // converted from a bigint: there is no -0
  };
}

/** The digits of a number that is an integer. */
function integerDigits(json: ExactJson): string | undefined {
  if (json instanceof JsonNumber) return integerFromDecimal(json.source);
  // A number that is stored as a double is written as String() writes it: 1e+21, for example.
  return typeof json === "number" ? integerFromDecimal(String(json)) : undefined;
}

/**
 * 32-bit integers may have any form of a JSON number. 64-bit ones must be plain digits, as ids are
 * written.
 */
function integerInString(text: string, bits: 32 | 64): string | undefined {
  if (bits === 32) return text.length <= 40 ? integerFromDecimal(text) : undefined;
  // 20 characters hold every 64-bit integer; a longer string need not be parsed.
  return text.length <= 20 && /^-?(0|[1-9][0-9]*)$/.test(text) ? text : undefined;
}

/** The largest finite 32-bit float, (2 - 2^-23) * 2^127. */
const floatMax = (2 - 2 ** -23) * 2 ** 127;

function readFloat(json: ExactJson, max: number): JsonValue {
  if (typeof json === "string" && /^(NaN|-?Infinity)$/.test(json)) return json;
  const isNumber =
    typeof json === "number" ||
    json instanceof JsonNumber ||
    (typeof json === "string" && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(json));
  if (!isNumber) throw new FieldViolation("", "must be a number");
  const value = Number(json instanceof JsonNumber ? json.source : json);
  if (Math.abs(value) <= max) return value;
  // Go, Java and C++ print the largest float as 3.4028235e38, which rounds down to it.
  const rounded = max === floatMax ? Math.fround(value) : value;
  if (Math.abs(rounded) > max) throw new FieldViolation("", "must be a number nearer to 0");
  return rounded;
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

function readBytes(json: ExactJson): JsonValue {
  try {
    if (typeof json === "string") base64Decode(json);
  } catch (cause) {
    throw new FieldViolation("", "must be base64", { cause });
  }
  if (typeof json !== "string") throw new FieldViolation("", "must be a string in base64");
  return json;
}
