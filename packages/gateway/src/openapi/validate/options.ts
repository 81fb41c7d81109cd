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
  type JsonObject,
  type JsonValue,
  type MessageShape,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { isJsonObject } from "../../codec/json-text.ts";
import { TypeRegistry } from "../../codec/type-registry.ts";

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

/** The type of a value and its rules. The name is empty if there are none. */
export function typeRules(rules: FieldRules): [kind: string, rules: FieldRules] {
  return (
    Object.entries(rules).find((one): one is [string, JsonObject] => isJsonObject(one[1])) ?? [
      "",
      {},
    ]
  );
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

const registries = new WeakMap<DescFile, Registry>();

function optionOf(
  file: DescFile,
  name: string,
  desc: DescField | DescOneof | DescMessage,
): FieldRules | undefined {
  const registry = registries.get(file) ?? registryOf(file);
  registries.set(file, registry);
  const extension = registry.getExtension(name) as Extension | undefined;
  if (extension?.message === undefined || !hasOption(desc, extension)) return undefined;
  const value = getOption(desc, extension) as MessageShape<DescMessage>;
  return toJson(extension.message, value) as FieldRules;
}

type Extension = DescExtension & { extendee: DescMessage };

function registryOf(file: DescFile): Registry {
  const types = new TypeRegistry();
  types.addFile(file);
  return types.registry;
}
