import { type DescEnum, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { floatMax, type IntegerType, integerTypes } from "../../codec/json-scalar.ts";
import { commentOf } from "../comments.ts";
import { describe, type JsonObject, joined } from "../components.ts";

/** Where a value is. A `patch` is a request with a mask, in which nothing has to be there. */
export type Place = "request" | "patch" | "response" | "parameter";

export type IntegerRange = Pick<IntegerType, "min" | "max">;

/** Of one alphabet: the server refuses what mixes them. */
const base64 = ["[A-Za-z0-9+/]", "[A-Za-z0-9_-]"].map(
  (one) => `(?:${one}{4})*(?:${one}{2}(?:==)?|${one}{3}=?)?`,
);
const base64Pattern = `^(?:${base64.join("|")})$`;

export interface ScalarOptions {
  readonly int64: "string" | "number";
  /** The pattern that every text of a request must match. */
  readonly textPattern?: string | undefined;
  /** Whether numbers of a request may also be the texts `NaN`, `Infinity` and `-Infinity`. */
  readonly hasNaN?: boolean;
  /**
   * What joins types of which a value has one: of `anyOf`, many code generators make an empty type, and
   * clients of models refuse `oneOf`.
   */
  readonly union: "anyOf" | "oneOf";
}

/** @param refer To a schema of that name, which is created on the first reference. */
export function scalarSchema(
  type: ScalarType,
  place: Place,
  { int64, textPattern, hasNaN = false, union }: ScalarOptions,
  refer: (name: string, create: () => JsonObject) => JsonObject,
): JsonObject {
  const integer = integerTypes.get(type);
  if (integer !== undefined) {
    const format = integerFormat(integer);
    if (integer.bits === 32) return integerNumber(format, integer);
    const name = format === "int64" ? "Int64" : "Uint64";
    const about = "The decimal digits of a 64-bit integer.";
    const text = () =>
      refer(`${name}Text`, () => ({ ...integerText(integer), description: about }));
    if (place === "parameter" || (place === "response" && int64 === "string")) return text();
    if (place === "response") return { type: "integer", format };
    const description =
      "A 64-bit integer: a JSON number, or its decimal digits as text. The text keeps integers past 2^53 exact where JSON numbers are doubles.";
    const forms = [integerNumber(format, integer), text()];
    // Not `Int64`: for that, OpenAPI Generator declares Go's NullableInt64 twice.
    return refer(`${name}Input`, () => ({ description, [union]: forms }));
  }
  // Of a parameter with it, clients of oapi-codegen send each byte as a number.
  const encoding = place === "parameter" && union === "oneOf" ? {} : { contentEncoding: "base64" };
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT: {
      const isDouble = type === ScalarType.DOUBLE;
      const number = { type: "number", format: isDouble ? "double" : "float" };
      // Of a double without, whose difference is no double: Java's generator cannot compute with it.
      const bounds = isDouble ? {} : { minimum: -floatMax, maximum: floatMax };
      const bounded = place === "response" ? number : { ...number, ...bounds };
      if (place !== "response" && !hasNaN) return bounded;
      const forms = [bounded, { type: "string", enum: ["NaN", "Infinity", "-Infinity"] }];
      // Not `Float`: PHP has no class of that name, and C# none with a member of its own name.
      return refer(isDouble ? "AnyDouble" : "AnyFloat", () => ({ [union]: forms }));
    }
    case ScalarType.BYTES:
      return { type: "string", ...encoding, pattern: base64Pattern };
    default:
      return { type: "string", ...textConditions(place, textPattern) };
  }
}

/** The conditions for the text of a field or map key. */
export function textConditions(place: Place, pattern: string | undefined): JsonObject {
  return pattern === undefined || place === "response" ? {} : { pattern };
}

/** An integer as a JSON number. Its bounds are doubles inside the range. */
export function integerNumber(format: string, { min, max }: IntegerRange): JsonObject {
  const number = { type: "integer", format, minimum: 0 - roundDown(-min) };
  if (max < 2n ** 63n) return { ...number, maximum: roundDown(max) };
  // ogen reads a `maximum` as int64, and fails past that.
  return { ...number, not: { minimum: 0 - roundDown(-max - 1n) } };
}

/** Any number of so many digits: a pattern of the exact range has 490 characters. */
export function integerText(integer: IntegerType): JsonObject {
  const sign = integer.signed ? "-?" : "";
  const pattern = `^(?:0|${sign}[1-9][0-9]{0,${String(integer.max).length - 1}})$`;
  return { type: "string", format: integerFormat(integer), pattern };
}

export function integerFormat({ signed, bits }: IntegerType): string {
  return `${signed ? "int" : "uint"}${bits}`;
}

/** The largest number whose decimal form, as JavaScript writes it, is not above the integer. */
function roundDown(integer: bigint): number {
  let number = Number(integer);
  // To the next double: half of the distance to it could be rounded back, for ever.
  while (BigInt(JSON.stringify(number)) > integer) number -= Math.abs(number) * 1.2e-16;
  return number;
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
  return { type: "integer", format: "int32", enum: [...new Set(values.map((one) => one.number))] };
}

function enumDescription(desc: DescEnum): string {
  const values = desc.values.flatMap((value) => {
    const note = joined(commentOf(value), value.deprecated ? "Deprecated." : "");
    return note === "" ? [] : [`- \`${value.jsonName}\`: ${note}`];
  });
  return [commentOf(desc), values.join("\n")].filter((part) => part !== "").join("\n\n");
}

const year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
const day = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const hours = "(?:[01][0-9]|2[0-3])";
const fraction = "(?:\\.[0-9]{1,9})?";
const timestamp = `^${year}-${day}T${hours}:[0-5][0-9]:[0-5][0-9]${fraction}(?:Z|[+-]${hours}:[0-5][0-9])$`;

const schemas: Readonly<Record<string, JsonObject>> = {
  Timestamp: {
    type: "string",
    format: "date-time",
    pattern: timestamp,
    description: "A point in time, as RFC 3339 writes it, to the nanosecond.",
  },
  Duration: {
    type: "string",
    pattern: `^-?(?:0|[1-9][0-9]{0,11})${fraction}s$`,
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
    properties: { "@type": { type: "string", description: "The URL of the message's type." } },
    // Must be empty without a type, which is no boolean. Expressed with `not`, because code generators
    // create types for the alternatives of `anyOf`. To kin-openapi, `not: {}` says nothing.
    not: { minProperties: 1, properties: { "@type": { type: "boolean" } } },
    additionalProperties: true,
    description: "A message of any type, with the name of that.",
  },
};

/** Undefined for a message with fields, and for wrappers. */
export function wellKnownSchema({ typeName }: DescMessage): JsonObject | undefined {
  const prefix = "google.protobuf.";
  return typeName.startsWith(prefix) ? schemas[typeName.slice(prefix.length)] : undefined;
}
