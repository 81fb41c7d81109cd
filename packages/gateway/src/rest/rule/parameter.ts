/** Converts the text of a path variable or query parameter to the JSON of its field. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { FieldMaskSchema, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { ExactJson } from "../../codec/json-value.ts";
import { FieldViolation } from "../../codec/violation.ts";

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
  if (isMask(field)) return readMask;
  return textTypes.has(message.typeName) ? readText : undefined;
}

/** Whether a value may contain a space. */
export function hasText({ scalar, message }: DescField): boolean {
  const own = message && isWrapperDesc(message) ? message.fields[0].scalar : scalar;
  return own === ScalarType.STRING;
}

/** Whether a value is a google.protobuf.FieldMask. */
export function isMask({ message }: DescField): boolean {
  return message?.typeName === FieldMaskSchema.typeName;
}

/** Messages that ProtoJSON writes as a string. */
const textTypes = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration"]);

/** ProtoJSON reads numbers and bytes from strings, but not bools. */
function scalarReader(type: ScalarType): ParameterReader {
  return type === ScalarType.BOOL ? readBool : readText;
}

/** Proto names are accepted, too, except those that ProtoJSON cannot write: `line_1`. */
function readMask(text: string): ExactJson {
  const json = text.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (json.includes("_")) throw new FieldViolation("", "has a name that has no JSON form");
  return json;
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
