/** JSON Schema of scalars: what the gateway reads, and what it writes. */
import { ScalarType } from "@bufbuild/protobuf";
import { integerTypes } from "../../json/scalar.ts";
import type { JsonObject } from "../json-object.ts";
import { integerPattern } from "./integer-pattern.ts";

/** A schema that stands for itself, or one that is worth a name. */
export type ScalarSchema =
  | { readonly kind: "inline"; readonly schema: JsonObject }
  | { readonly kind: "named"; readonly name: string; readonly schema: JsonObject }
  /** A number as in the schema, or the text that a parameter has. */
  | { readonly kind: "number_or_text"; readonly name: string; readonly number: JsonObject };

/**
 * Where a value stands: in the JSON of a request or of an answer, or as the text
 * of a parameter.
 */
export type Place = "request" | "response" | "parameter";

/** Integers from one to the other, both included. */
export interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
}

const base64 = "[A-Za-z0-9+/_-]";
const base64Pattern = `^(?:${base64}{4})*(?:${base64}{2}(?:==)?|${base64}{3}=?)?$`;

export interface ScalarOptions {
  /** How answers write 64-bit integers. */
  readonly int64: "string" | "number";
  /** What every text of a request matches. */
  readonly textPattern?: string | undefined;
}

export function scalarSchema(
  type: ScalarType,
  place: Place,
  { int64, textPattern }: ScalarOptions,
): ScalarSchema {
  if (integerTypes.has(type)) return integerSchema(type, place, int64);
  switch (type) {
    case ScalarType.BOOL:
      return inline({ type: "boolean" });
    case ScalarType.DOUBLE:
      return floatSchema("double", Number.MAX_VALUE, place);
    case ScalarType.FLOAT:
      return floatSchema("float", (2 - 2 ** -23) * 2 ** 127, place);
    case ScalarType.BYTES:
      return inline({ type: "string", contentEncoding: "base64", pattern: base64Pattern });
    default:
      return inline({ type: "string", ...textConditions(place, textPattern) });
  }
}

/** What a text must be, of a field or as the key of a map. */
export function textConditions(place: Place, pattern: string | undefined): JsonObject {
  return pattern === undefined || place === "response" ? {} : { pattern };
}

/** The integers that a type has; undefined for what is no integer. */
export function rangeOf(type: ScalarType): IntegerRange | undefined {
  const integer = integerTypes.get(type);
  if (integer === undefined) return undefined;
  const max = 2n ** BigInt(integer.signed ? integer.bits - 1 : integer.bits) - 1n;
  return { min: integer.signed ? -max - 1n : 0n, max };
}

/** An integer, as a JSON number. Its bounds are doubles that are not outside of the range. */
export function integerNumber(format: string, { min, max }: IntegerRange): JsonObject {
  return { type: "integer", format, minimum: 0 - roundDown(-min), maximum: roundDown(max) };
}

/** An integer, as its decimal digits. */
export function integerText(format: string, { min, max }: IntegerRange): JsonObject {
  return { type: "string", format, pattern: `^${integerPattern(min, max)}$` };
}

export function integerFormat(type: ScalarType): string {
  const { signed, bits } = integerTypes.get(type) ?? { signed: true, bits: 32 };
  return `${signed ? "int" : "uint"}${bits}`;
}

function integerSchema(type: ScalarType, place: Place, int64: "string" | "number"): ScalarSchema {
  const range = rangeOf(type) ?? { min: 0n, max: 0n };
  const format = integerFormat(type);
  if (integerTypes.get(type)?.bits === 32) return inline(integerNumber(format, range));
  const name = format === "int64" ? "Int64" : "Uint64";
  if (place === "request") {
    return { kind: "number_or_text", name, number: integerNumber(format, range) };
  }
  if (place === "response" && int64 === "number") return inline({ type: "integer", format });
  const description = "The decimal digits of a 64-bit integer.";
  const schema = { ...integerText(format, range), description };
  return { kind: "named", name: `${name}Text`, schema };
}

function floatSchema(format: "double" | "float", max: number, place: Place): ScalarSchema {
  const number = { type: "number", format };
  if (place !== "response") return inline({ ...number, minimum: -max, maximum: max });
  const anyOf = [number, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }];
  return { kind: "named", name: format === "double" ? "Double" : "Float", schema: { anyOf } };
}

/** The largest number that JavaScript writes in digits that are not more than the integer. */
function roundDown(integer: bigint): number {
  let number = Number(integer);
  while (BigInt(decimal(number)) > integer)
    number -= 2 ** (Math.floor(Math.log2(Math.abs(number))) - 53);
  return number;
}

/** What JSON.stringify writes. */
function decimal(number: number): string {
  return JSON.stringify(number);
}

function inline(schema: JsonObject): ScalarSchema {
  return { kind: "inline", schema };
}
