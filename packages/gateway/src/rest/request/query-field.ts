import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { type FieldPath, hasCustomJson } from "../rule/field-path.ts";

/** The field that a query parameter refers to. */
export interface QueryField {
  readonly path: FieldPath;
  /** The key of a map entry, as in `labels[key]`. */
  readonly key: string | undefined;
}

/** The maximum nesting depth of a message. */
const depthMax = 100;

/**
 * Finds the field that a query parameter names, by proto or JSON names separated by dots. A JSON
 * name may be any text, including `a[b]` or `a.b`. The longest matching name wins.
 */
export function findQueryField(message: DescMessage, name: string): QueryField | undefined {
  const path: DescField[] = [];
  let current: DescMessage | undefined = message;
  let rest = name;
  while (current !== undefined && path.length < depthMax) {
    const { field, length } = longestName(current, rest);
    if (field === undefined) return undefined;
    path.push(field);
    const fieldPath = path as unknown as FieldPath;
    if (rest.length === length) return { path: fieldPath, key: undefined };
    if (rest[length] === "[") {
      const isEntry = field.fieldKind === "map" && rest.endsWith("]");
      return isEntry ? { path: fieldPath, key: rest.slice(length + 1, -1) } : undefined;
    }
    rest = rest.slice(length + 1);
    const hasFields = field.fieldKind === "message" && !hasCustomJson(field.message);
    current = hasFields ? field.message : undefined;
  }
  return undefined;
}

/** The field with the longest name that the text starts with. */
function longestName({ fields }: DescMessage, text: string) {
  let longest: { field: DescField | undefined; length: number } = { field: undefined, length: 0 };
  for (const field of fields) {
    const length = Math.max(lengthIn(text, field.name), lengthIn(text, field.jsonName));
    if (length > longest.length) longest = { field, length };
  }
  return longest;
}

/** The length of the name if the text is the name or continues after it; otherwise 0. */
function lengthIn(text: string, name: string): number {
  if (!text.startsWith(name)) return 0;
  const next = text[name.length];
  return next === undefined || next === "." || next === "[" ? name.length : 0;
}
