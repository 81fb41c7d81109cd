/** JSON of scalars and enums, read exactly. */
import {
  type DescEnum,
  type JsonReadOptions,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { countValues, dynamicValues, entryValues, smallObjectMax } from "./decode.ts";
import { type ExactJson, JsonNumber } from "./json-text.ts";
import { FieldViolation } from "./violation.ts";

export interface JsonOptions extends Partial<JsonReadOptions> {
  /**
   * Whether to reject 64-bit integers past 2^53 that are numbers: clients that read JSON to doubles
   * have rounded them before they send them. Default: no.
   */
  readonly refusesUnsafe?: boolean;
}

/**
 * Reads the JSON of one kind of value, as protobuf-es stores it. Undefined for an enum value that
 * is not known and may be ignored.
 * @throws {FieldViolation}
 */
export type Reader<T = unknown, O = JsonOptions> = (json: ExactJson, options: O) => T;

export type IntegerType = ReturnType<typeof integerType>;

function integerType(bits: 32 | 64, signed: boolean) {
  const max = 2n ** BigInt(signed ? bits - 1 : bits) - 1n;
  return { bits, signed, min: signed ? -max - 1n : 0n, max };
}

const { INT32, SINT32, SFIXED32, UINT32, FIXED32 } = ScalarType;
const { INT64, SINT64, SFIXED64, UINT64, FIXED64 } = ScalarType;

export const integerTypes: ReadonlyMap<ScalarType, IntegerType> = new Map([
  ...[INT32, SINT32, SFIXED32].map((type) => [type, integerType(32, true)] as const),
  ...[UINT32, FIXED32].map((type) => [type, integerType(32, false)] as const),
  ...[INT64, SINT64, SFIXED64].map((type) => [type, integerType(64, true)] as const),
  ...[UINT64, FIXED64].map((type) => [type, integerType(64, false)] as const),
]);

export function scalarReader(type: ScalarType): Reader {
  const integer = integerTypes.get(type);
  if (integer !== undefined) return integerReader(integer);
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

export function enumReader(desc: DescEnum): Reader<number | undefined> {
  // Where a name in JSON is the proto name of another value, the latter counts.
  const byName = new Map([
    ...desc.values.map(({ jsonName, number }) => [jsonName, number] as const),
    ...desc.values.map(({ name, number }) => [name, number] as const),
  ]);
  const numbers = new Set(byName.values());
  const isNull = desc.typeName === "google.protobuf.NullValue";
  return (json, { ignoreUnknownFields }) => {
    if (typeof json === "string") {
      const number = byName.get(json);
      if (number !== undefined || ignoreUnknownFields === true) return number;
    } else {
      const number = Number(integerDigits(json) ?? Number.NaN);
      const isInRange = number >= -(2 ** 31) && number < 2 ** 31;
      if (desc.open ? isInRange : numbers.has(number)) return number;
      if (json === null && isNull) return 0;
    }
    throw new FieldViolation("", `must be a value of ${desc.name}`);
  };
}

const longInteger = /^-?\d{20,}$/;

function sourceOf(json: ExactJson): string {
  if (typeof json === "string") return json;
  return json instanceof JsonNumber ? json.source : "";
}

function integerReader({ bits, signed, min, max }: IntegerType): Reader<number | bigint> {
  const least = Number(min);
  const most = Number(max);
  const isLong = bits === 64;
  const description = `must be a ${bits}-bit ${signed ? "" : "unsigned "}integer`;
  return (json, { refusesUnsafe }) => {
    if (typeof json === "number" && Number.isSafeInteger(json) && json >= least && json <= most) {
      return isLong ? BigInt(json) : json || 0; // there is no -0
    }
    const digits = typeof json === "string" ? integerInString(json, bits) : integerDigits(json);
    if (digits === undefined || BigInt(digits) < min || BigInt(digits) > max) {
      const isWhole = digits !== undefined || longInteger.test(sourceOf(json));
      throw new FieldViolation("", isWhole ? `${description}, from ${min} to ${max}` : description);
    }
    const isUnsafe = typeof json !== "string" && !Number.isSafeInteger(Number(digits));
    if (refusesUnsafe === true && isUnsafe) {
      throw new FieldViolation("", "must be text past 2^53: as a number, it may be rounded");
    }
    return isLong ? BigInt(digits) : Number(digits) || 0; // there is no -0
  };
}

function integerDigits(json: ExactJson): string | undefined {
  if (json instanceof JsonNumber) return integerFromDecimal(json.source);
  // A number that is stored as a double is written as String() writes it: 1e+21, for example.
  return typeof json === "number" ? integerFromDecimal(String(json)) : undefined;
}

/** 32-bit integers may have any form of a JSON number. 64-bit ones must be plain digits, as ids are written. */
function integerInString(text: string, bits: 32 | 64): string | undefined {
  if (bits === 32) return text.length <= 40 ? integerFromDecimal(text) : undefined;
  // 20 characters hold every 64-bit integer; a longer string need not be parsed.
  return text.length <= 20 && /^-?(0|[1-9][0-9]*)$/.test(text) ? text : undefined;
}

const decimal = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The plain digits of a JSON number (`12.0`, `1.2e1`) that is an integer of at most 20 digits, as
 * every 64-bit integer is; undefined for any other.
 */
export function integerFromDecimal(source: string): string | undefined {
  const match = decimal.exec(source);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  // The value is digits * 10^shift. Nothing is allocated for a large exponent.
  const shift = Number(exponent) - fraction.length;
  if (digits.length + shift > 20) return undefined;
  if (shift >= 0) return `${sign}${digits}${"0".repeat(shift)}`;
  if (/[^0]/.test(digits.slice(shift))) return undefined;
  return `${sign}${digits.slice(0, shift)}`;
}

/** The largest finite 32-bit float, (2 - 2^-23) * 2^127. */
export const floatMax = (2 - 2 ** -23) * 2 ** 127;

function readFloat(json: ExactJson, max: number): number {
  const text = sourceOf(json);
  if (/^(NaN|-?Infinity)$/.test(text)) return Number(text);
  const isNumber = typeof json === "number";
  if (!isNumber && !decimal.test(text)) throw new FieldViolation("", "must be a number");
  const number = Number(isNumber ? json : text);
  // As in binary. Go, Java and C++ print the largest float as 3.4028235e38, which rounds down to it.
  const value = max === floatMax ? Math.fround(number) : number;
  if (Math.abs(value) > max) throw new FieldViolation("", "must be a number nearer to 0");
  return value;
}

/** The shortest number that is the same as a float. No float takes more than 9 digits. */
export function shortFloat(value: number): number {
  for (let digits = 6; digits < 10; digits++) {
    const short = Number(value.toPrecision(digits));
    // Some readers refuse the largest one in 8 digits, which is a larger double.
    if (Math.fround(short) === Math.fround(value) && Math.abs(short) <= floatMax) return short;
  }
  return value;
}

function readString(json: ExactJson): string {
  if (typeof json !== "string") throw new FieldViolation("", "must be a string");
  if (!json.isWellFormed()) throw new FieldViolation("", "must not contain a lone surrogate");
  return json;
}

function readBool(json: ExactJson): boolean {
  if (typeof json !== "boolean") throw new FieldViolation("", "must be true or false");
  return json;
}

function readBytes(json: ExactJson): Uint8Array {
  if (typeof json !== "string") throw new FieldViolation("", "must be a string in base64");
  const [, data = "", padding = ""] = base64.exec(json) ?? [];
  const isWhole = padding === "" ? data.length % 4 !== 1 : json.length % 4 === 0;
  if (!isWhole || data.length + padding.length < json.length) {
    throw new FieldViolation("", "must be base64");
  }
  return base64Decode(json);
}

/** Of either alphabet. protobuf-es leaves out characters that make no byte. */
const base64 = /^([\w-]*|[A-Za-z0-9+/]*)(={0,2})$/;

/** The same JSON with every number as a double, for types that contain JSON or a string. */
export function plainJson(json: ExactJson): JsonValue {
  countValues(dynamicValues);
  if (json instanceof JsonNumber) return readFloat(json, Number.MAX_VALUE);
  if (typeof json === "string") return readString(json);
  if (Array.isArray(json)) return json.map(plainJson);
  if (typeof json !== "object" || json === null) return json;
  const members = Object.entries(json);
  if (members.length > smallObjectMax) countValues(members.length * entryValues);
  return Object.fromEntries(
    members.map(([key, value]) => {
      if (key.isWellFormed()) return [key, plainJson(value)];
      throw new FieldViolation("", "must not have a lone surrogate in a key");
    }),
  );
}
