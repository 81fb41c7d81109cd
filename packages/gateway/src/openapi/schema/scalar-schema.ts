/** JSON Schema of scalars, as the gateway reads and writes them. */

import { type DescEnum, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { floatMax, type IntegerType, integerTypes } from "../../codec/json-scalar.ts";
import { commentOf } from "../comments.ts";
import { describe, type JsonObject } from "../components.ts";
import { integerPattern } from "./integer-pattern.ts";

/** A schema to use inline, or one with its own name. */
type ScalarSchema =
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

export function enumNames(desc: DescEnum): JsonObject {
  return {
    type: "string",
    ...describe(enumDescription(desc), desc.deprecated),
    enum: desc.values.map(({ jsonName }) => jsonName),
  };
}

/** An open enum accepts any number, because later versions may have values without a name here. */
export function enumNumbers({ open, values }: DescEnum): JsonObject {
  if (open) return integerNumber("int32", { min: -(2n ** 31n), max: 2n ** 31n - 1n });
  return {
    type: "integer",
    format: "int32",
    enum: [...new Set(values.map(({ number }) => number))],
  };
}

function enumDescription(desc: DescEnum): string {
  const values = desc.values.flatMap((value) => {
    const notes = [commentOf(value), value.deprecated ? "Deprecated." : ""];
    const note = notes.filter((part) => part !== "").join(" ");
    return note === "" ? [] : [`- \`${value.jsonName}\`: ${note}`];
  });
  return [commentOf(desc), values.join("\n")].filter((part) => part !== "").join("\n\n");
}

const year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
const day = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const hours = "(?:[01][0-9]|2[0-3])";
const fraction = "(?:\\.[0-9]{1,9})?";
const timestamp = `^${year}-${day}T${hours}:[0-5][0-9]:[0-5][0-9]${fraction}(?:Z|[+-]${hours}:[0-5][0-9])$`;

const duration = `^-?${integerPattern(0n, 315_576_000_000n)}${fraction}s$`;

const schemas: Readonly<Record<string, JsonObject>> = {
  Timestamp: {
    type: "string",
    format: "date-time",
    pattern: timestamp,
    description: "A point in time, as RFC 3339 writes it, to the nanosecond.",
  },
  Duration: {
    type: "string",
    pattern: duration,
    description: "A span of time in seconds, with an `s` behind: `1.5s`.",
  },
  FieldMask: {
    type: "string",
    pattern: "^[^_]*$",
    description: "Names of fields in lowerCamelCase, with commas between: `title,author.name`.",
  },
  Struct: { type: "object", additionalProperties: true, description: "Any JSON object." },
  Value: { description: "Any JSON value." },
  ListValue: { type: "array", items: {}, description: "Any JSON array." },
  Any: {
    type: "object",
    properties: {
      "@type": { type: "string", description: "The URL of the message's type." },
    },
    // Must be empty without a type. Expressed with `not`, because code generators create types for
    // the alternatives of `anyOf`.
    not: { minProperties: 1, properties: { "@type": { not: {} } } },
    additionalProperties: true,
    description: "A message of any type, with the name of that.",
  },
};

/** Undefined for a message with fields, and for wrappers. */
export function wellKnownSchema({ typeName }: DescMessage): JsonObject | undefined {
  const prefix = "google.protobuf.";
  return typeName.startsWith(prefix) ? schemas[typeName.slice(prefix.length)] : undefined;
}
