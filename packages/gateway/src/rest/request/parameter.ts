/** Converts the text of a path variable or query parameter to the JSON of its field. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { ExactJson } from "../../json/value.ts";
import { FieldViolation } from "../../json/violation.ts";

/** Converts the text of one value to JSON. @throws {FieldViolation} */
export type ParameterReader = (text: string) => ExactJson;

/**
 * The reader for one value of a field (an item of a list, a value of a map). Undefined for a
 * message without a text form.
 */
export function parameterReader(field: DescField): ParameterReader | undefined {
  if (field.enum !== undefined) return readEnum;
  if (field.scalar !== undefined) return scalarReader(field.scalar);
  const { message } = field;
  if (message === undefined) return undefined;
  if (isWrapperDesc(message)) return scalarReader(message.fields[0].scalar);
  return textTypes.has(message.typeName) ? readText : undefined;
}

/** Messages that ProtoJSON writes as a string. */
const textTypes = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
  "google.protobuf.FieldMask",
]);

/** ProtoJSON reads numbers and bytes from strings, but not bools. */
function scalarReader(type: ScalarType): ParameterReader {
  if (type === ScalarType.BOOL) return readBool;
  return type === ScalarType.BYTES ? readBytes : readText;
}

/** An unencoded `+` of base64 has become a space in a query. */
function readBytes(text: string): ExactJson {
  return text.replaceAll(" ", "+");
}

function readText(text: string): ExactJson {
  return text;
}

function readBool(text: string): ExactJson {
  if (text !== "true" && text !== "false") throw new FieldViolation("", "must be true or false");
  return text === "true";
}

function readEnum(text: string): ExactJson {
  return /^-?\d{1,10}$/.test(text) ? Number(text) : text;
}
