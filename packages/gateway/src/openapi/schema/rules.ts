/** The rules of protovalidate as JSON Schema, without CEL and the bounds of times. */
import {
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { memoized } from "../../codec/decode.ts";
import { messageToJson } from "../../codec/json-messages.ts";
import { integerTypes } from "../../codec/json-scalar.ts";
import { isJsonObject } from "../../codec/json-text.ts";
import { TypeRegistry } from "../../codec/type-registry.ts";
import type { JsonObject } from "../components.ts";
import {
  type IntegerRange,
  integerFormat,
  integerNumber,
  integerText,
  type Place,
} from "./scalar-schema.ts";

/** A value of a field: the whole value, an item of a list, or a key or value of a map. */
interface Ruled {
  readonly scalar?: ScalarType | undefined;
  readonly enum?: DescEnum | undefined;
  /** The zero value that `ignore` may exempt from the rules. Undefined if presence is tracked. */
  readonly zero?: JsonObject | undefined;
}

export function constrain(
  schema: JsonObject,
  rules: FieldRules | undefined,
  value: Ruled,
  place: Place,
): JsonObject {
  if (rules === undefined) return schema;
  const constrained = constrainSet(schema, typeRules(rules), value, place);
  const { zero } = value;
  const isExempt = zero !== undefined && rules["ignore"] === "IGNORE_IF_ZERO_VALUE";
  if (!isExempt || constrained === schema) return constrained;
  const own = Object.entries(constrained).filter(([keyword, one]) => schema[keyword] !== one);
  return { ...schema, ...atLeastOne(zero, Object.fromEntries(own)) };
}

/** By `not`, because code generators create types for the alternatives of `anyOf`. */
function atLeastOne(...schemas: JsonObject[]): JsonObject {
  return { not: { allOf: schemas.map((one) => ({ not: one })) } };
}

type TypeRules = [kind: string, rules: FieldRules];

function constrainSet(schema: JsonObject, typed: TypeRules, value: Ruled, place: Place) {
  const [kind, rules] = typed;
  if (kind === "enum") return enumSchema(schema, rules, value.enum);
  const integer = value.scalar && integerTypes.get(value.scalar);
  if (kind === "" || integer === undefined) return join(schema, conditionsOf(typed));
  const isNumber = schema["type"] === "integer"; // a map key is text, even if it has 32 bits
  const forms = (values: JsonValue[]): JsonValue[] => {
    if (isNumber) return values;
    const numbers = values.map(Number).filter(Number.isSafeInteger);
    return [...(place !== "parameter" ? numbers : []), ...values.map(String)];
  };
  const conditions = valueConditions(rules, forms);
  const ranges = rangesOf(rules, integer);
  if (ranges === undefined) return join(schema, conditions);
  const text = integerText(integer);
  const number = numberWithin(ranges, integerFormat(integer));
  const isText = place === "parameter";
  return join(isNumber ? number : isText ? text : { oneOf: [number, text] }, conditions);
}

/** One schema for both ranges: of two numbers, OpenAPI Generator makes an enum in Rust with one name twice. */
function numberWithin([low, high]: IntegerRanges, format: string): JsonObject {
  if (high === undefined) return integerNumber(format, low);
  const gap = integerNumber(format, { min: low.max + 1n, max: high.min - 1n });
  return both(integerNumber(format, { ...low, max: high.max }), { not: gap });
}

/** The conditions for a value that JSON writes in its own type. */
function conditionsOf([kind, rules]: TypeRules): JsonObject[] {
  if (["", "any", "duration", "timestamp", "fieldMask"].includes(kind)) return [];
  switch (kind) {
    case "string":
      return stringConditions(rules);
    case "bytes":
      return bytesConditions(rules);
    case "repeated":
      return [
        pick("minItems", rules["minItems"]),
        pick("maxItems", rules["maxItems"]),
        rules["unique"] === true ? { uniqueItems: true } : {},
      ];
    case "map":
      return [pick("minProperties", rules["minPairs"]), pick("maxProperties", rules["maxPairs"])];
    default:
      return [...valueConditions(rules), ...boundConditions(rules)];
  }
}

type IntegerRanges = readonly [IntegerRange, IntegerRange?];

/** The integers within the bounds; undefined without bounds. */
function rangesOf(rules: FieldRules, { min, max }: IntegerRange): IntegerRanges | undefined {
  const bound = (name: string, shift: bigint): bigint | undefined => {
    const value = rules[name];
    return value === undefined ? undefined : BigInt(String(value)) + shift;
  };
  const least = bound("gte", 0n) ?? bound("gt", 1n);
  const most = bound("lte", 0n) ?? bound("lt", -1n);
  if (least === undefined && most === undefined) return undefined;
  const from = bound("gte", 0n) ?? bound("gt", 0n) ?? min;
  const to = bound("lte", 0n) ?? bound("lt", 0n) ?? max;
  const [first, last] = [least ?? min, most ?? max];
  if (from <= to) return [{ min: first, max: last }];
  return [
    { min, max: last },
    { min: first, max },
  ];
}

function boundConditions(rules: FieldRules): JsonObject[] {
  const least = { ...pick("minimum", rules["gte"]), ...pick("exclusiveMinimum", rules["gt"]) };
  const most = { ...pick("maximum", rules["lte"]), ...pick("exclusiveMaximum", rules["lt"]) };
  const from = Number(rules["gte"] ?? rules["gt"] ?? Number.NEGATIVE_INFINITY);
  const to = Number(rules["lte"] ?? rules["lt"] ?? Number.POSITIVE_INFINITY);
  if (from <= to) return [{ ...least, ...most }];
  // The values between the bounds are rejected.
  const above = { ...pick("exclusiveMinimum", rules["lte"]), ...pick("minimum", rules["lt"]) };
  const below = { ...pick("exclusiveMaximum", rules["gte"]), ...pick("maximum", rules["gt"]) };
  return [{ not: { ...above, ...below } }];
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
  if (names.length > 0) return { type: "string", enum: names };
  return wanted === undefined ? schema : { type: "integer", enum: wanted };
}

/** The JSON of its zero value, in each form. */
export function zerosOf({ scalar, enum: desc }: Ruled): JsonValue[] {
  if (desc !== undefined) {
    const [first] = desc.values;
    return desc.values.filter((one) => one.number === first?.number).map((one) => one.jsonName);
  }
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return [""];
  if (scalar === ScalarType.BOOL) return [false];
  return scalar === undefined ? [] : [0, "0"];
}

function join(schema: JsonObject, conditions: readonly JsonObject[]): JsonObject {
  return conditions.filter((one) => Object.keys(one).length > 0).reduce(both, schema);
}

/** Adds a condition. Of `allOf` without a type, code generators make a value of any type. */
export function both(schema: JsonObject, condition: JsonObject): JsonObject {
  const { type, not, allOf = [] } = schema;
  // Bounds of a rule replace the type's own, which are wider.
  const isTaken = (keyword: string) => keyword in schema && !/^(?:min|max)imum$/.test(keyword);
  if (!Object.keys(condition).some(isTaken)) return { ...schema, ...condition };
  if ("not" in condition) return { ...schema, not: { anyOf: [not, condition["not"]] } };
  return {
    ...schema,
    allOf: [...(allOf as JsonObject[]), { ...(type !== undefined && { type }), ...condition }],
  };
}

function stringConditions(rules: FieldRules): JsonObject[] {
  const isLong = Number(rules["lenBytes"] ?? rules["minBytes"] ?? 0) > 0;
  const least = rules["len"] ?? rules["minLen"] ?? (isLong ? 1 : undefined);
  // A character has at least one byte.
  const most = rules["len"] ?? rules["maxLen"] ?? rules["lenBytes"] ?? rules["maxBytes"];
  const { pattern, notContains } = rules;
  const matching = (name: string, toPattern: (text: string) => string) => {
    const value = rules[name];
    return typeof value === "string" ? { pattern: toPattern(value) } : {};
  };
  return [
    ...valueConditions(rules),
    pick("minLength", least),
    pick("maxLength", most),
    typeof pattern === "string" && isPortable(pattern) ? { pattern } : {},
    matching("prefix", (text) => `^${quote(text)}`),
    matching("suffix", (text) => `${quote(text)}$`),
    matching("contains", quote),
    typeof notContains === "string" ? { not: { pattern: quote(notContains) } } : {},
    ...Object.entries(formats).map(([name, format]) => (rules[name] === true ? format : {})),
  ];
}

/** Bounds for the text: base64 has four characters for three bytes, and padding may be omitted. */
function bytesConditions(rules: FieldRules): JsonObject[] {
  const isSome =
    ["prefix", "suffix", "contains"].some((name) => (rules[name] ?? "") !== "") ||
    Object.keys(formats).some((name) => rules[name] === true);
  const least = rules["len"] ?? rules["minLen"] ?? (isSome ? 1 : undefined);
  const most = rules["len"] ?? rules["maxLen"];
  if (least === undefined && most === undefined) return valueConditions(rules);
  const characters = (bytes: JsonValue) => Math.ceil((Number(bytes) * 4) / 3);
  const [low, high] = [characters(least ?? 0), most === undefined ? undefined : characters(most)];
  // Patterns of Go count to 1000. Lengths allow a byte or two more, or less, because of the padding.
  const isLong = Math.max(low, high ?? 0) > 1000;
  const lengths = { minLength: low, ...pick("maxLength", high && Math.ceil(high / 4) * 4) };
  const pattern = `^[A-Za-z0-9+/_-]{${low},${high ?? ""}}={0,2}$`;
  return [...valueConditions(rules), isLong ? lengths : { pattern }];
}

function quote(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** @param forms In which JSON may have the values. */
function valueConditions(rules: FieldRules, forms = (values: JsonValue[]) => values): JsonObject[] {
  const { const: only, in: some, notIn } = rules;
  return [
    only === undefined ? {} : { enum: forms([only]) },
    some === undefined ? {} : { enum: forms(listOf(some)) },
    notIn === undefined ? {} : { not: { enum: forms(listOf(notIn)) } },
  ];
}

function pick(keyword: string, value: JsonValue | undefined): JsonObject {
  if (value === undefined) return {};
  return { [keyword]: typeof value === "string" ? Number(value) : value };
}

const hex = "[0-9a-fA-F]";

const formats: Readonly<Record<string, JsonObject>> = {
  email: { format: "email" },
  hostname: { format: "hostname" },
  ip: atLeastOne({ format: "ipv4" }, { format: "ipv6" }),
  ipv4: { format: "ipv4" },
  ipv6: { format: "ipv6" },
  uri: { format: "uri" },
  uriRef: { format: "uri-reference" },
  address: atLeastOne({ format: "hostname" }, { format: "ipv4" }, { format: "ipv6" }),
  uuid: { format: "uuid", pattern: `^${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}$` },
  tuuid: { pattern: `^${hex}{32}$` },
  ulid: { pattern: "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$" },
};

/** Whether a pattern for RE2 is also valid in JavaScript. */
function isPortable(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Whether the rules reject the unset value of a field without presence. */
export function refusesZero(rules: FieldRules): boolean {
  if (rules["ignore"] === "IGNORE_IF_ZERO_VALUE") return false;
  const typed = typeRules(rules);
  const zero = { string: "", bytes: "", bool: false }[typed[0]] ?? 0;
  return conditionsOf(typed).some((condition) => refuses(condition, zero));
}

/** @param zero Stands for an empty list or map, too. */
function refuses(schema: JsonObject, zero: JsonValue): boolean {
  return Object.entries(schema).some(([keyword, value]) => {
    if (keyword.startsWith("min")) return Number(value) > 0;
    if (keyword === "exclusiveMinimum") return Number(value) >= 0;
    if (keyword === "maximum") return Number(value) < 0;
    if (keyword === "exclusiveMaximum") return Number(value) <= 0;
    if (keyword === "pattern") return !new RegExp(String(value), "u").test("");
    if (keyword === "format") return value !== "uri-reference";
    if (keyword === "not") return !refuses(value as JsonObject, zero);
    // 64-bit integers are text.
    const isZero = (one: JsonValue) => (zero === 0 ? Number(one) : one) === zero;
    if (keyword === "enum") return !(value as JsonValue[]).some(isZero);
    return keyword === "allOf" && (value as JsonObject[]).some((one) => refuses(one, zero));
  });
}

/** `buf.validate.FieldRules` in JSON. */
export type FieldRules = { readonly [name: string]: JsonValue };

/** Undefined for a field without rules, and for one whose rules are disabled. */
export function rulesOf(field: DescField): FieldRules | undefined {
  const rules = optionOf(field.parent.file, "buf.validate.field", field);
  if (rules === undefined || rules["ignore"] === "IGNORE_ALWAYS") return undefined;
  const isChoice = choicesOf(field.parent).some(({ fields }) => fields.includes(field));
  return isChoice ? { ignore: "IGNORE_IF_ZERO_VALUE", ...rules } : rules;
}

export type Choice = ReturnType<typeof choicesOf>[number];

/** Fields of which at most one may be set, or exactly one if required. */
export function choicesOf(message: DescMessage) {
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
function typeRules(rules: FieldRules): TypeRules {
  for (const [kind, own] of Object.entries(rules)) if (isJsonObject(own)) return [kind, own];
  return ["", {}];
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

const typesOf = memoized((file: DescFile) => new TypeRegistry(file).registry);

function optionOf(
  file: DescFile,
  name: string,
  desc: DescField | DescOneof | DescMessage,
): FieldRules | undefined {
  const extension = typesOf(file).getExtension(name) as Extension | undefined;
  if (extension?.message === undefined || !hasOption(desc, extension)) return undefined;
  const value = getOption(desc, extension) as MessageShape<DescMessage>;
  return JSON.parse(JSON.stringify(messageToJson(extension.message, value, {}))); // -0, too
}

type Extension = DescExtension & { extendee: DescMessage };
