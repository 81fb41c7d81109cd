import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { scalarOf } from "../../codec/json-messages.ts";
import type { ExactJson } from "../../codec/json-text.ts";
import { FieldViolation } from "../../codec/violation.ts";

/** Fields from a message down to a nested one. Never empty. */
export type FieldPath = readonly [DescField, ...DescField[]];

const depthMax = 100;

/**
 * Finds the field that proto or JSON names lead to, with dots between, and the key of a map entry,
 * as in `labels[key]`. A JSON name may be any text, including `a[b]` or `a.b`. The longest matching
 * name wins. The proto name of one field may be the JSON name of another: then the kind that is first.
 */
export function findFieldPath(
  message: DescMessage,
  name: string,
  kinds: readonly ("jsonName" | "name")[] = ["jsonName", "name"],
): { readonly path: FieldPath; readonly key: string | undefined } | undefined {
  const path: DescField[] = [];
  let current: DescMessage | undefined = message;
  let rest = name;
  while (current !== undefined && path.length < depthMax) {
    const { field, length } = longestName(current, rest, kinds);
    if (field === undefined) return undefined;
    path.push(field);
    const fieldPath = path as unknown as FieldPath;
    if (rest.length === length) return { path: fieldPath, key: undefined };
    if (rest[length] === "[") {
      const isEntry = field.fieldKind === "map" && rest.endsWith("]");
      return isEntry ? { path: fieldPath, key: rest.slice(length + 1, -1) } : undefined;
    }
    rest = rest.slice(length + 1);
    const hasFields = field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message);
    current = hasFields ? field.message : undefined;
  }
  return undefined;
}

/** The field with the longest name that the text is, or that a dot or a bracket follows there. */
function longestName(message: DescMessage, text: string, kinds: readonly ("jsonName" | "name")[]) {
  let longest: { field: DescField | undefined; length: number } = { field: undefined, length: 0 };
  for (const kind of kinds) {
    for (const field of message.fields) {
      const { length } = field[kind];
      const isThere = text.startsWith(field[kind]) && ".[".includes(text[length] ?? ".");
      if (isThere && length > longest.length) longest = { field, length };
    }
  }
  return longest;
}

export function findField({ fields }: DescMessage, name: string): DescField | undefined {
  const byJsonName = fields.find(({ jsonName }) => jsonName === name);
  return byJsonName ?? fields.find((field) => field.name === name);
}

export function jsonPath(path: readonly DescField[]): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

export function leafOf(path: FieldPath): DescField {
  return path.at(-1) ?? path[0];
}

/** Converts the text of one value to JSON. @throws {FieldViolation} */
type ParameterReader = (text: string) => ExactJson;

/** Reads one value: of a list, an item. Undefined for a message without a text form. */
export function parameterReader(field: DescField): ParameterReader | undefined {
  if (field.enum !== undefined) return enumReader(field.enum);
  if (isMask(field)) return readMask;
  const scalar = scalarOf(field);
  // ProtoJSON reads numbers and bytes from strings, but not bools. It refuses other texts.
  const isBool = scalar === ScalarType.BOOL;
  if (isBool) return (text) => (/^(?:true|false)$/.test(text) ? text === "true" : text);
  const isText = scalar !== undefined || textTypes.has(field.message?.typeName ?? "");
  return isText ? (text) => text : undefined;
}

export function isMask({ message }: DescField): boolean {
  return message?.typeName === "google.protobuf.FieldMask";
}

/** Messages that ProtoJSON writes as a string. */
const textTypes = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration"]);

/** Proto names are accepted, too, except those that ProtoJSON cannot write: `line_1`. */
function readMask(text: string): ExactJson {
  const json = text.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (json.includes("_")) throw new FieldViolation("", "has a name that has no JSON form");
  return json;
}

/** An unknown name becomes NaN: `ignoreUnknownFields` would ignore the name. */
function enumReader(type: DescEnum): ParameterReader {
  return (text) => {
    if (/^-?\d{1,10}$/.test(text)) return Number(text);
    return isNameIn(type, text) ? text : Number.NaN;
  };
}

export function isNameIn({ values }: DescEnum, text: string): boolean {
  return values.some(({ name, jsonName }) => text === name || text === jsonName);
}
