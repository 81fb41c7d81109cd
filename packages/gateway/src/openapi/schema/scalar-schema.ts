/** JSON Schema of scalars, as the gateway reads and writes them. */
import { ScalarType } from "@bufbuild/protobuf";
import { floatMax, type IntegerType, integerTypes } from "../../codec/json-scalar.ts";
import type { JsonObject } from "../json-object.ts";

/** A schema to use inline, or one with its own name. */
export type ScalarSchema =
  | { readonly kind: "inline"; readonly schema: JsonObject }
  | { readonly kind: "named"; readonly name: string; readonly schema: JsonObject }
  /** A number with this schema, or the text of a parameter. */
  | { readonly kind: "number_or_text"; readonly name: string; readonly number: JsonObject };

/**
 * The place of a value: the JSON of a request or an answer, or the text of a parameter. A PATCH with
 * a mask is a request in which nothing has to be there.
 */
export type Place = "request" | "patch" | "response" | "parameter";

export type IntegerRange = Pick<IntegerType, "min" | "max">;

const base64 = "[A-Za-z0-9+/_-]";
const base64Pattern = `^(?:${base64}{4})*(?:${base64}{2}(?:==)?|${base64}{3}=?)?$`;

export interface ScalarOptions {
  readonly int64: "string" | "number";
  /** The pattern that every text of a request must match. */
  readonly textPattern?: string | undefined;
}

export function scalarSchema(
  type: ScalarType,
  place: Place,
  { int64, textPattern }: ScalarOptions,
): ScalarSchema {
  const integer = integerTypes.get(type);
  if (integer !== undefined) return integerSchema(integer, place, int64);
  switch (type) {
    case ScalarType.BOOL:
      return inline({ type: "boolean" });
    case ScalarType.DOUBLE:
      // Without bounds, whose difference is no double: Java's generator cannot compute with it.
      return floatSchema("double", {}, place);
    case ScalarType.FLOAT:
      return floatSchema("float", { minimum: -floatMax, maximum: floatMax }, place);
    case ScalarType.BYTES:
      return inline({ type: "string", contentEncoding: "base64", pattern: base64Pattern });
    default:
      return inline({ type: "string", ...textConditions(place, textPattern) });
  }
}

/** The conditions for the text of a field or map key. */
export function textConditions(place: Place, pattern: string | undefined): JsonObject {
  return pattern === undefined || place === "response" ? {} : { pattern };
}

/** An integer as a JSON number. Its bounds are doubles inside the range. */
export function integerNumber(format: string, { min, max }: IntegerRange): JsonObject {
  return { type: "integer", format, minimum: 0 - roundDown(-min), maximum: roundDown(max) };
}

/** An integer, as its decimal digits. */
export function integerText(format: string, { min, max }: IntegerRange): JsonObject {
  return { type: "string", format, pattern: `^${integerPattern(min, max)}$` };
}

export function integerFormat({ signed, bits }: IntegerType): string {
  return `${signed ? "int" : "uint"}${bits}`;
}

function integerSchema(type: IntegerType, place: Place, int64: "string" | "number"): ScalarSchema {
  const format = integerFormat(type);
  if (type.bits === 32) return inline(integerNumber(format, type));
  const name = format === "int64" ? "Int64" : "Uint64";
  if (place === "request" || place === "patch") {
    return { kind: "number_or_text", name, number: integerNumber(format, type) };
  }
  if (place === "response" && int64 === "number") return inline({ type: "integer", format });
  const description = "The decimal digits of a 64-bit integer.";
  const schema = { ...integerText(format, type), description };
  return { kind: "named", name: `${name}Text`, schema };
}

function floatSchema(format: "double" | "float", bounds: JsonObject, place: Place): ScalarSchema {
  const number = { type: "number", format };
  if (place !== "response") return inline({ ...number, ...bounds });
  const anyOf = [number, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }];
  return { kind: "named", name: format === "double" ? "Double" : "Float", schema: { anyOf } };
}

/** The largest number whose decimal form, as JavaScript writes it, is not above the integer. */
function roundDown(integer: bigint): number {
  let number = Number(integer);
  while (BigInt(JSON.stringify(number)) > integer)
    number -= 2 ** (Math.floor(Math.log2(Math.abs(number))) - 53);
  return number;
}

function inline(schema: JsonObject): ScalarSchema {
  return { kind: "inline", schema };
}

/** Regular expressions that match exactly the decimal digits of the integers in a range. */

/**
 * @returns an expression without anchors: no leading zeros, no `-0`, no `+`. Uses only features
 * that the engines of JavaScript, Python, Go and Java interpret the same way.
 */
export function integerPattern(min: bigint, max: bigint): string {
  if (min >= 0n) return group(naturalPatterns(min, max));
  if (max < 0n) return `-${group(naturalPatterns(-max, -min))}`;
  // The part that both signs share appears only once.
  const common = -min < max ? -min : max;
  const signed = naturalPatterns(1n, common);
  return group([
    "0",
    ...(signed.length > 0 ? [`-?${group(signed)}`] : []),
    ...naturalPatterns(common + 1n, -min).map((pattern) => `-${pattern}`),
    ...naturalPatterns(common + 1n, max),
  ]);
}

function naturalPatterns(min: bigint, max: bigint): string[] {
  if (min > max) return [];
  if (min === 0n) return ["0", ...naturalPatterns(1n, max)];
  const digits = String(min).length;
  const end = 10n ** BigInt(digits); // the first number with more digits
  const isStart = min === end / 10n;
  if (max < end - 1n) return [sameLength(String(min), String(max))];
  if (!isStart) return [sameLength(String(min), String(end - 1n)), ...naturalPatterns(end, max)];
  // All numbers of the same length share one expression.
  const lengths = String(max + 1n).length - 1;
  const [least, most] = [digits - 1, lengths - 1];
  const counted = most === 0 ? "" : `[0-9]{${least === most ? least : `${least},${most}`}}`;
  return [`[1-9]${counted}`, ...naturalPatterns(10n ** BigInt(lengths), max)];
}

/** All numbers from `low` to `high`, which have the same number of digits. */
function sameLength(low: string, high: string): string {
  if (low === high) return low;
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (first === last) return first + sameLength(lowRest, highRest);
  const zeros = "0".repeat(lowRest.length);
  const nines = "9".repeat(lowRest.length);
  const from = lowRest === zeros ? first : first + 1;
  const to = highRest === nines ? last : last - 1;
  return group([
    ...(from > first ? [first + sameLength(lowRest, nines)] : []),
    ...(from <= to ? [digit(from, to) + anyDigits(lowRest.length)] : []),
    ...(to < last ? [last + sameLength(zeros, highRest)] : []),
  ]);
}

function digit(from: number, to: number): string {
  return from === to ? String(from) : `[${from}-${to}]`;
}

function anyDigits(count: number): string {
  if (count === 0) return "";
  return count === 1 ? "[0-9]" : `[0-9]{${count}}`;
}

function group(parts: readonly string[]): string {
  const [only = ""] = parts;
  return parts.length === 1 ? only : `(?:${parts.join("|")})`;
}
