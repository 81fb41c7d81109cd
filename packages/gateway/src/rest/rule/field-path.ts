import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** Fields from a message down to a nested one. Never empty. */
export type FieldPath = readonly [DescField, ...DescField[]];

/** Why names do not lead to a field. */
export type FieldPathProblem =
  | { readonly kind: "unknown"; readonly name: string; readonly message: DescMessage }
  /** Only a singular message has fields to continue with. */
  | { readonly kind: "not_a_message"; readonly field: DescField };

/** Resolves proto or JSON names, field by field. */
export function resolveFieldPath(
  message: DescMessage,
  names: readonly string[],
): FieldPath | FieldPathProblem {
  const path: DescField[] = [];
  let current: DescMessage | undefined = message;
  for (const name of names) {
    if (current === undefined) {
      return { kind: "not_a_message", field: path.at(-1) as DescField };
    }
    const field: DescField | undefined = findField(current, name);
    if (field === undefined) return { kind: "unknown", name, message: current };
    path.push(field);
    const hasFields = field.fieldKind === "message" && !hasCustomJson(field.message);
    current = hasFields ? field.message : undefined;
  }
  return path as unknown as FieldPath;
}

/** Finds a field by its proto or JSON name. */
export function findField(message: DescMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.name === name || field.jsonName === name);
}

/** Its JSON names, with dots between. */
export function jsonPath(path: readonly DescField[]): string {
  return path.map(({ jsonName }) => jsonName).join(".");
}

export function leafOf(path: FieldPath): DescField {
  return path.at(-1) ?? path[0];
}

/** Whether its JSON is a value and not an object with its fields: a Timestamp, for example. */
export function hasCustomJson(message: DescMessage): boolean {
  return customNames.has(message.typeName) || isWrapperDesc(message);
}

const customNames: ReadonlySet<string> = new Set(
  ["Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue", "Any"].map(
    (name) => `google.protobuf.${name}`,
  ),
);
