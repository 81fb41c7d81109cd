/** The annotations of a field in a schema. */
import { type DescField, getOption, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { commentOf } from "../comments.ts";
import { describe, type JsonObject } from "../components.ts";
import { zerosOf } from "./rules.ts";

/** Its description, and whether it is only for requests or answers. */
export function notedOf(field: DescField): JsonObject {
  const { isOutput, isInput } = traitsOf(field);
  return {
    ...describe(descriptionOf(field), field.deprecated),
    ...(isOutput && { readOnly: true }),
    ...(isInput && { writeOnly: true }),
  };
}

export function descriptionOf(field: DescField): string {
  const note = traitsOf(field).isImmutable ? "Immutable: it cannot be changed later." : "";
  return [commentOf(field), note].filter((part) => part !== "").join(" ");
}

export function defaultOf(field: DescField): JsonObject {
  const isValue = field.fieldKind === "scalar" || field.fieldKind === "enum";
  const value = isValue ? field.getDefaultValue() : undefined;
  // Its JSON would be a text, which is not of the type.
  const hasJson = typeof value !== "number" || Number.isFinite(value);
  return value === undefined || !hasJson ? {} : { default: jsonOf(field, value) };
}

function jsonOf(field: DescField, value: unknown): JsonValue {
  if (field.enum !== undefined) return field.enum.value[Number(value)]?.jsonName ?? Number(value);
  if (value instanceof Uint8Array) return base64Encode(value);
  if (typeof value === "bigint") return String(value);
  return value as JsonValue;
}

/** The schema of a field that must be set. If its zero value means "not set", excludes zero. */
export function nonZeroOf(field: DescField, schema: JsonObject): JsonObject {
  if (!traitsOf(field).isImplicit) return schema;
  const { fieldKind, scalar } = field;
  const filled = (keyword: string) => ({ ...schema, [keyword]: schema[keyword] || 1 });
  if (fieldKind === "list") return filled("minItems");
  if (fieldKind === "map") return filled("minProperties");
  if (scalar === ScalarType.BOOL && String(schema["enum"]) !== "false") {
    return { ...schema, enum: [true] };
  }
  const isText = scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
  if (isText && !("enum" in schema)) return filled("minLength");
  return without(schema, [...zerosOf(field), ...(fieldKind === "enum" ? [0] : [])]);
}

function without(schema: JsonObject, values: readonly JsonValue[]): JsonObject {
  const condition = { not: { enum: values } };
  if (!("not" in schema)) return { ...schema, ...condition };
  const { allOf } = schema;
  return { ...schema, allOf: [...(Array.isArray(allOf) ? allOf : []), condition] };
}

export function traitsOf(field: DescField) {
  const behaviors = getOption(field, field_behavior);
  const { IMPLICIT, LEGACY_REQUIRED } = FeatureSet_FieldPresence;
  return {
    isRequired: behaviors.includes(FieldBehavior.REQUIRED) || field.presence === LEGACY_REQUIRED,
    isOutput: behaviors.includes(FieldBehavior.OUTPUT_ONLY),
    isInput: behaviors.includes(FieldBehavior.INPUT_ONLY),
    isImmutable: behaviors.includes(FieldBehavior.IMMUTABLE),
    /** Whether zero means "not set", so that JSON omits it. */
    isImplicit: field.presence === IMPLICIT,
  };
}
