/** What stands in a path or a query is text; this makes it JSON of its field. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { FieldViolation } from "../../call/violation.ts";
import type { ExactJson } from "../../json/value.ts";

/** Turns the text of one value into JSON. @throws {FieldViolation} */
export type ParameterReader = (text: string) => ExactJson;

/**
 * The reader for one value of a field (one item, of a list; one value, of a
 * map). Undefined for a message that has no text of its own.
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

/** ProtoJSON reads numbers and bytes from strings; it reads no bool from one. */
function scalarReader(type: ScalarType): ParameterReader {
  if (type === ScalarType.BOOL) return readBool;
  return type === ScalarType.BYTES ? readBytes : readText;
}

/** A `+` of base64 that nobody encoded has become a space on its way through a query. */
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
