/**
 * Converts the rules of protovalidate to JSON Schema. Omits what JSON Schema cannot express: CEL,
 * and bounds of timestamps and durations. Bounds in bytes of text are converted to characters.
 */
import { type DescEnum, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { JsonObject } from "../json-object.ts";
import {
  type IntegerRange,
  integerFormat,
  integerNumber,
  integerText,
  type Place,
  rangeOf,
} from "../schema/scalar-schema.ts";
import { type FieldRules, listOf, typeRules } from "./options.ts";
import { bytesConditions, pick, stringConditions, valueConditions } from "./text.ts";

/** A value of a field: the whole value, an item of a list, or a key or value of a map. */
export interface Ruled {
  readonly scalar?: ScalarType | undefined;
  readonly enum?: DescEnum | undefined;
}

/** The schema of a value with the conditions of its rules. */
export function constrain(
  schema: JsonObject,
  rules: FieldRules,
  value: Ruled,
  place: Place,
): JsonObject {
  const constrained = constrainSet(schema, typeRules(rules), value, place);
  if (rules["ignore"] !== "IGNORE_IF_ZERO_VALUE" || constrained === schema) return constrained;
  return { anyOf: [{ enum: zerosOf(value) }, constrained] };
}

function constrainSet(
  schema: JsonObject,
  [kind, rules]: [string, FieldRules],
  value: Ruled,
  place: Place,
): JsonObject {
  switch (kind) {
    case "":
    case "any":
    case "duration":
    case "timestamp":
    case "fieldMask":
      return schema;
    case "string":
      return join(schema, stringConditions(rules));
    case "bytes":
      return join(schema, bytesConditions(rules));
    case "bool":
      return join(schema, valueConditions(rules));
    case "enum":
      return enumSchema(schema, rules, value.enum);
    case "repeated":
      return join(schema, [
        pick("minItems", rules["minItems"]),
        pick("maxItems", rules["maxItems"]),
        rules["unique"] === true ? { uniqueItems: true } : {},
      ]);
    case "map":
      return join(schema, [
        pick("minProperties", rules["minPairs"]),
        pick("maxProperties", rules["maxPairs"]),
      ]);
    default:
      return numberSchema(schema, rules, value.scalar ?? ScalarType.DOUBLE, place);
  }
}

function numberSchema(
  schema: JsonObject,
  rules: FieldRules,
  type: ScalarType,
  place: Place,
): JsonObject {
  const format = integerFormat(type);
  const range = rangeOf(type);
  // A map key is text, even if it has 32 bits.
  if (range === undefined || schema["type"] === "integer") {
    return join(schema, [...valueConditions(rules), ...boundConditions(rules)]);
  }
  const forms = (texts: readonly JsonValue[]): JsonValue[] => {
    const numbers = texts.map(Number).filter(Number.isSafeInteger);
    return place !== "parameter" ? [...numbers, ...texts] : [...texts];
  };
  const wanted = rules["const"] === undefined ? rules["in"] : [rules["const"]];
  const unwanted = rules["notIn"];
  const conditions = [
    wanted === undefined ? {} : { enum: forms(listOf(wanted)) },
    unwanted === undefined ? {} : { not: { enum: forms(listOf(unwanted)) } },
  ];
  const ranges = rangesOf(rules, range);
  if (ranges === undefined) return join(schema, conditions);
  const texts = ranges.map((one) => integerText(format, one));
  const numbers = place !== "parameter" ? ranges.map((one) => integerNumber(format, one)) : [];
  return join({ anyOf: [...numbers, ...texts] }, conditions);
}

/** The integers within the bounds; undefined without bounds. */
function rangesOf(rules: FieldRules, { min, max }: IntegerRange): IntegerRange[] | undefined {
  const bound = (name: string, shift: bigint): bigint | undefined => {
    const value = rules[name];
    return value === undefined ? undefined : BigInt(String(value)) + shift;
  };
  const least = bound("gte", 0n) ?? bound("gt", 1n);
  const most = bound("lte", 0n) ?? bound("lt", -1n);
  if (least === undefined && most === undefined) return undefined;
  if (least !== undefined && most !== undefined && least > most) {
    return [
      { min, max: most },
      { min: least, max },
    ];
  }
  return [{ min: least ?? min, max: most ?? max }];
}

function boundConditions(rules: FieldRules): JsonObject[] {
  const least = { ...pick("minimum", rules["gte"]), ...pick("exclusiveMinimum", rules["gt"]) };
  const most = { ...pick("maximum", rules["lte"]), ...pick("exclusiveMaximum", rules["lt"]) };
  const from = Number(rules["gte"] ?? rules["gt"] ?? Number.NEGATIVE_INFINITY);
  const to = Number(rules["lte"] ?? rules["lt"] ?? Number.POSITIVE_INFINITY);
  // If the lower bound is above the upper one, the values in between are rejected.
  return from > to ? [{ anyOf: [least, most] }] : [{ ...least, ...most }];
}

function enumSchema(schema: JsonObject, rules: FieldRules, desc: DescEnum | undefined): JsonObject {
  const { const: only, in: some, notIn } = rules;
  const isNamed = rules["definedOnly"] === true || (only ?? some ?? notIn) !== undefined;
  if (desc === undefined || !isNamed) return schema;
  const wanted = only === undefined ? some : [only];
  const names = desc.values
    .filter(({ number }) => wanted === undefined || listOf(wanted).includes(number))
    .filter(({ number }) => !listOf(notIn ?? []).includes(number))
    .map(({ jsonName }) => jsonName);
  return { type: "string", enum: names };
}

/** The JSON of its zero value, in each form. */
export function zerosOf({ scalar, enum: desc }: Ruled): JsonValue[] {
  if (desc !== undefined) {
    return desc.values.filter(({ number }) => number === 0).map(({ jsonName }) => jsonName);
  }
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return [""];
  if (scalar === ScalarType.BOOL) return [false];
  return scalar === undefined ? [] : [0, "0"];
}

/** Adds conditions. Those with the same keywords are combined with `allOf`. */
function join(schema: JsonObject, conditions: readonly JsonObject[]): JsonObject {
  const joined = { ...schema };
  const others: JsonObject[] = [];
  for (const condition of conditions.filter((one) => Object.keys(one).length > 0)) {
    const isOther = Object.keys(condition).some(
      (keyword) => keyword in joined && !isBound(keyword),
    );
    if (isOther) others.push(condition);
    else Object.assign(joined, condition);
  }
  return others.length === 0 ? joined : { ...joined, allOf: others };
}

/** Bounds of a rule replace the type's own, which are wider. */
function isBound(keyword: string): boolean {
  return keyword === "minimum" || keyword === "maximum";
}
