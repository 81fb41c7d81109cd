/** JSON Schema of scalars, as the gateway reads and writes them. */
import { ScalarType } from "@bufbuild/protobuf";
import { floatMax, type IntegerType, integerTypes } from "../../codec/json-scalar.ts";
import type { JsonObject } from "../json-object.ts";
import { integerPattern } from "./integer-pattern.ts";

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
