/** JSON values that keep everything that ProtoJSON distinguishes. */
import type { JsonValue } from "@bufbuild/protobuf";

/**
 * A number as written, where a double might differ from it: `JSON.parse` alone turns
 * 9007199254740993 into ...992, and 1.0000000000000000001 into 1.
 */
export class JsonNumber {
  /** The token, in the number syntax of RFC 8259 section 6. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON value whose numbers are exact: a double, or the digits as written. */
export type ExactJson =
  | null
  | boolean
  | number
  | string
  | JsonNumber
  | ExactJson[]
  | { [key: string]: ExactJson };

/** Whether it is a JSON object, and neither an array nor a number that is kept as written. */
export function isJsonObject<T>(json: T): json is Extract<T, { [key: string]: unknown }> {
  return (
    typeof json === "object" &&
    json !== null &&
    !Array.isArray(json) &&
    !(json instanceof JsonNumber)
  );
}

/** JSON that `JSON.stringify` writes unchanged, for numbers that it would change. */
export function rawJson(text: string): JsonValue {
  // ES2026; not yet in the library's types.
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(text);
}
