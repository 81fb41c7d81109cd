/**
 * The options of protovalidate, read by reflection. A proto that uses them has
 * `buf/validate/validate.proto` among its dependencies.
 */
import {
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { isJsonObject } from "../../codec/json-value.ts";

/** `buf.validate.FieldRules` in JSON. */
export type FieldRules = { readonly [name: string]: JsonValue };

/** Undefined for a field without rules, and for one whose rules are disabled. */
export function rulesOf(field: DescField): FieldRules | undefined {
  const rules = optionOf(field.parent.file, "buf.validate.field", field);
  return rules?.["ignore"] === "IGNORE_ALWAYS" ? undefined : rules;
}

/** Fields of which at most one may be set, or exactly one if required. */
export interface Choice {
  readonly fields: readonly DescField[];
  readonly isRequired: boolean;
}

export function choicesOf(message: DescMessage): Choice[] {
  const { file } = message;
  const oneofs = message.oneofs.map((oneof) => ({
    fields: oneof.fields,
    isRequired: optionOf(file, "buf.validate.oneof", oneof)?.["required"] === true,
  }));
  const { oneof: virtual = [] } = optionOf(file, "buf.validate.message", message) ?? {};
  const named = listOf(virtual)
    .filter(isJsonObject)
    .map(({ fields: names, required }) => ({
      fields: message.fields.filter(({ name }) => listOf(names).includes(name)),
      isRequired: required === true,
    }));
  return [...oneofs, ...named];
}

/** The rules for the items of a list, or the keys or values of a map. */
export function innerRules(
  rules: FieldRules | undefined,
  of: "items" | "keys" | "values",
): FieldRules | undefined {
  const inner = rules === undefined ? undefined : typeRules(rules)[1][of];
  return isJsonObject(inner) && inner["ignore"] !== "IGNORE_ALWAYS" ? inner : undefined;
}

const kinds = new Set([
  ...["float", "double", "int32", "int64", "uint32", "uint64", "sint32", "sint64"],
  ...["fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes", "enum"],
  ...["repeated", "map", "any", "duration", "timestamp", "fieldMask"],
]);

/** The type of a value and its rules. The name is empty if there are none. */
export function typeRules(rules: FieldRules): [kind: string, rules: FieldRules] {
  const kind = Object.keys(rules).find((name) => kinds.has(name)) ?? "";
  return [kind, (rules[kind] ?? {}) as FieldRules];
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function optionOf(
  file: DescFile,
  name: string,
  desc: DescField | DescOneof | DescMessage,
): FieldRules | undefined {
  const extension = extensionsOf(file).get(name);
  if (extension?.message === undefined || !hasOption(desc, extension)) return undefined;
  const value = getOption(desc, extension) as MessageShape<DescMessage>;
  return toJson(extension.message, value) as FieldRules;
}

type Extension = DescExtension & { extendee: DescMessage };

const extensionsByFile = new WeakMap<DescFile, ReadonlyMap<string, Extension>>();

/** The protovalidate extensions available to a file, by name. */
function extensionsOf(file: DescFile): ReadonlyMap<string, Extension> {
  const known = extensionsByFile.get(file);
  if (known !== undefined) return known;
  const found = findFile(file, new Set());
  const extensions = new Map(found?.extensions.map((one) => [one.typeName, one as Extension]));
  extensionsByFile.set(file, extensions);
  return extensions;
}

function findFile(file: DescFile, seen: Set<DescFile>): DescFile | undefined {
  if (seen.has(file)) return undefined;
  seen.add(file);
  if (file.proto.name === "buf/validate/validate.proto") return file;
  for (const dependency of file.dependencies) {
    const found = findFile(dependency, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}
