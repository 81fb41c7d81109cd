/** JSON Schema of google.protobuf messages whose JSON is not an object with their fields. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { JsonObject } from "../json-object.ts";
import { integerPattern } from "./integer-pattern.ts";

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
