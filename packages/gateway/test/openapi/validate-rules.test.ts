/**
 * Rules of protovalidate: the schema allows what the validator accepts. The rows say which values
 * are rejected.
 */
import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { describe, expect, test } from "vitest";
import { messageFromJson, messageToJson } from "../../src/codec/json-messages.ts";
import { resolveMcpOptions } from "../../src/mcp/options.ts";
import { inputSchema } from "../../src/mcp/tool.ts";
import { createComponents } from "../../src/openapi/components.ts";
import { createSchemas } from "../../src/openapi/schema/schema.ts";
import { describeMethod } from "../support/described-method.ts";
import { documentOf, operationOf, validatorOf } from "./document-of.ts";
import { type forms, messageWith, messageWithChoice, type Rules } from "./ruled-message.ts";

const none = Symbol("no value");

type Value = JsonValue | typeof none;

interface Row {
  readonly form: keyof typeof forms;
  readonly rules: Rules;
  readonly allowed: readonly Value[];
  readonly refused: readonly Value[];
}

/** A union discriminated by its case. */
type TypeRules = Extract<NonNullable<Rules["type"]>, { case: string }>;

const row = (
  form: Row["form"],
  type: TypeRules | undefined,
  allowed: Row["allowed"],
  refused: Row["refused"],
  other: Rules = {},
): Row => ({ form, rules: { ...other, ...(type && { type }) }, allowed, refused });

const text = (value: object): TypeRules => ({ case: "string", value });
const bytes = (value: object): TypeRules => ({ case: "bytes", value });
const known = (name: string) => text({ wellKnown: { case: name, value: true } });
const gt = <T>(value: T) => ({ greaterThan: { case: "gt" as const, value } });
const gte = <T>(value: T) => ({ greaterThan: { case: "gte" as const, value } });
const lt = <T>(value: T) => ({ lessThan: { case: "lt" as const, value } });
const lte = <T>(value: T) => ({ lessThan: { case: "lte" as const, value } });
const long = (value: object): TypeRules => ({ case: "int64", value });
const int = (value: object): TypeRules => ({ case: "int32", value });
const double = (value: object): TypeRules => ({ case: "double", value });
const float = (value: object): TypeRules => ({ case: "float", value });
const mood = (value: object): TypeRules => ({ case: "enum", value });
const list = (value: object): TypeRules => ({ case: "repeated", value });
const map = (value: object): TypeRules => ({ case: "map", value });

const odd = "9007199254740993"; // no double
const uuid = "01234567-89ab-cdef-0123-456789ABCDEF";

const rows: readonly Row[] = [
  row("string", text({ minLen: 2n, maxLen: 3n }), ["ab", "abc"], ["a", "abcd", "", none]),
  row("string", text({ len: 2n }), ["ab"], ["a", "abc", none]),
  row("string", text({ pattern: "^[a-z]+$" }), ["a"], ["A", "", none]),
  row(
    "string",
    text({ prefix: "a.", suffix: "/z", contains: "m" }),
    ["a.m/z"],
    ["abm/z", "a.m", "a./z", none],
  ),
  row("string", text({ notContains: ".", notIn: ["b"] }), ["", "a", none], ["a.b", "b"]),
  row("string", text({ in: ["a", "b"] }), ["a", "b"], ["c", "", none]),
  row("string", text({ notIn: ["a"] }), ["b", "", none], ["a"]),
  row("string", text({ const: "a" }), ["a"], ["b", none]),
  row("string", known("email"), ["a@b.de"], ["a", "", none]),
  row("string", known("uuid"), [uuid], ["a", `${uuid}0`, none]),
  row("string", known("tuuid"), ["0".repeat(32)], [uuid, none]),
  row("string", known("ip"), ["127.0.0.1", "::1"], ["a", none]),
  row("string", known("ipv4"), ["127.0.0.1"], ["::1", none]),
  row("string", known("uri"), ["https://a.de/b"], ["a b", none]),
  row("string", known("hostname"), ["a.de"], ["a b", none]),
  row("string", text({ minLen: 2n }), ["ab", "", none], ["a"], { ignore: 1 }),
  row("string", text({ minLen: 2n }), ["a", "", none], [], { ignore: 3 }),
  row("string", undefined, ["a"], ["", none], { required: true }),
  row("string", text({ minLen: 0n }), ["a"], ["", none], { required: true }),
  row("optional", text({ minLen: 1n }), ["a", none], [""]),
  row("choice", text({ minLen: 2n }), ["ab", "", none], ["a"]),
  row("optional", undefined, ["", "a"], [none], { required: true }),
  row("optional", text({ minLen: 2n }), ["ab", none], [""], { ignore: 1 }),
  row("bytes", bytes({ minLen: 2n, maxLen: 3n }), ["AAA=", "AAAA"], ["AA==", "AAAAAA==", none]),
  row("bytes", bytes({ len: 751n }), ["A".repeat(1002)], ["A".repeat(1008), "AAAA", none]),
  row("bool", { case: "bool", value: { const: true } }, [true], [false, none]),
  row("bool", { case: "bool", value: { const: false } }, [], [true, false], { required: true }),
  row("int32", int({ ...gte(2), ...lt(5) }), [2, 4], [1, 5, none]),
  row("int32", int(lt(0)), [-1], [0, none]),
  row("int32", int({ ...gt(5), ...lt(2) }), [6, 1, -7, none], [2, 5, 3]),
  row("int32", int({ in: [1, 2] }), [1], [3, none]),
  row("int32", int({ notIn: [0] }), [1], [0, none]),
  row("uint32", { case: "uint32", value: lte(5) }, [5, none], [6]),
  row("int64", long(gte(-1n)), [-1, "-1", "0", "9223372036854775807", none], [-2]),
  row("int64", long({ ...gt(0n), ...lte(BigInt(odd) + 2n) }), [1, "1", odd], [0, none]),
  row("int64", long({ ...gt(5n), ...lt(6n) }), [], [1, 5, 6, 9, none]),
  row("int64", long({ ...gt(9n), ...lt(3n) }), ["10", 2, "-5", none], [5]),
  row("int64", long({ in: [1n, BigInt(odd)] }), [1, "1", odd], [2, "9007199254740992", none]),
  row("int64", long({ const: 5n }), [5, "5"], [6, none]),
  row("int64", long({ const: 5n }), ["5", "0", 0, none], [6], { ignore: 1 }),
  row("int64", long({ notIn: [5n] }), [6, none], [5, "5"]),
  row("uint64", { case: "uint64", value: gte(2n ** 64n - 1n) }, [`${2n ** 64n - 1n}`], [1, none]),
  row("uint64", { case: "uint64", value: { ...gt(9n), ...lt(3n) } }, ["10", 2, none], [5]),
  row("wrapper", long(gte(2n)), [2, "3", none], [1, 0]),
  row("wrapper", long(gte(2n)), [2, none], [0], { ignore: 1 }),
  row("double", double(gt(0.5)), [0.6], [0.5, none]),
  row("double", double({ ...gte(1), ...lte(1) }), [1], [0.5, 2, none]),
  row("float", float({ ...gte(0.1), ...lt(0.3) }), [0.1, 0.2], [0.09, 0.3, none]),
  row("double", double({ finite: true }), [1, none], []),
  row("enum", mood({ definedOnly: true }), ["MOOD_GOOD", none], [3]),
  row("enum", mood({ in: [1] }), ["MOOD_GOOD"], ["MOOD_BAD", "MOOD_UNSPECIFIED", none]),
  row("enum", mood({ in: [1] }), ["MOOD_GOOD", "MOOD_UNSPECIFIED", none], ["MOOD_BAD"], {
    ignore: 1,
  }),
  row("enum", mood({ in: [7, 8] }), [7], ["MOOD_GOOD", 9, none]),
  row("enum", mood({ notIn: [0] }), ["MOOD_BAD"], ["MOOD_UNSPECIFIED", none]),
  row("enum", mood({ notIn: [1] }), ["MOOD_BAD", none], ["MOOD_GOOD"]),
  row(
    "strings",
    list({ minItems: 1n, maxItems: 2n, unique: true }),
    [["a"], ["a", "b"]],
    [[], ["a", "a"], ["a", "b", "c"], none],
  ),
  row("strings", list({ minItems: 0n }), [["a"]], [[], none], { required: true }),
  row("strings", list({ minItems: 2n }), [[], ["a", "b"], none], [["a"]], { ignore: 1 }),
  row("strings", list({ items: { type: text({ minLen: 2n }) } }), [["ab"], [], none], [["a"]]),
  row("strings", list({ items: { type: text({ len: 2n }), ignore: 1 } }), [["ab", ""]], [["a"]]),
  row("wrappers", list({ items: { type: long(gt(3n)), ignore: 1 } }), [["4"]], [[0]]),
  row("ints", list({ items: { type: long(gt(3n)) } }), [["4", 5]], [[3]]),
  row("map", map({ minPairs: 1n, maxPairs: 1n }), [{ 1: "a" }], [{}, { 1: "", 2: "" }, none]),
  row("map", map({ minPairs: 0n }), [{ 1: "a" }], [{}, none], { required: true }),
  row("map", map({ minPairs: 2n }), [{}, { 1: "", 2: "" }, none], [{ 1: "" }], { ignore: 1 }),
  row("map", map({ keys: { type: int({ in: [6] }) } }), [{ 6: "" }, {}], [{ 5: "" }]),
  row("map", map({ values: { type: text({ in: ["a"] }) } }), [{ 1: "a" }], [{ 1: "b" }]),
];

const plainOptions = resolveMcpOptions({ tools: [], schemas: "plain" });

describe.each(rows.map((one) => [nameOf(one), one] as const))(
  "%s",
  (_, { form, rules, ...values }) => {
    const message = messageWith(form, rules);
    const allows = allowsOf(message);
    const plain = validatorOf({}, inputSchema(describeMethod(message, undefined), plainOptions));
    for (const value of values.allowed) {
      test(`allows ${show(value)}`, () => {
        expect(allows(objectOf(value))).toBe(true);
        expect(validate(message, objectOf(value))).toBe("valid");
        const read = messageFromJson(message, objectOf(value));
        expect(plain(messageToJson(message, read, {}))).toBe(true);
      });
    }
    for (const value of values.refused) {
      test(`rejects ${show(value)}`, () => {
        expect(allows(objectOf(value))).toBe(false);
        expect(validate(message, objectOf(value))).toBe("invalid");
      });
    }
  },
);

test.each<[JsonValue, boolean]>([
  [{ a: "" }, true],
  [{ b: "x" }, true],
  [{}, false],
  [{ a: "", b: "" }, false],
  [{ a: null, b: "" }, false],
])("a required oneof: %j is %s", (json, expected) => {
  const message = messageWithChoice();
  expect(allowsOf(message)(json)).toBe(expected);
  const components = createComponents("full");
  const options = { int64: "string", ignoreUnknownFields: false, examples: {} } as const;
  const patch = createSchemas(components, options).forMessage(message, "patch");
  const isOne = JSON.stringify(json) !== '{"a":"","b":""}'; // a mask names what is changed
  expect(validatorOf({ components }, patch)(json)).toBe(isOne);
});

test("answers are not restricted by rules that the server checks only in requests", () => {
  const document = documentFor(messageWith("string", { type: text({ minLen: 2n }) }));
  expect(document.components.schemas.Ruled.properties.value).toEqual({ type: "string" });
});

function documentFor(message: DescMessage) {
  const rule = { pattern: { case: "post", value: "/v1/ruled" }, body: "*" } as const;
  return documentOf(describeMethod(message, rule).parent);
}

function allowsOf(message: DescMessage) {
  const document = documentFor(message);
  // Of these, generators make types, any value, twice the same of two numbers, or nothing: Go's fail.
  const misread =
    /(?<!"not":{)(?:"anyOf"|"allOf":\[{"(?!type))|"int[^{}]*(?:},{"type":"int|"excl)|[{,]\d{4,}}|"not":{}|"maximum":\d{20}/;
  expect(JSON.stringify(document)).not.toMatch(misread);
  const content = operationOf(document, "Call").requestBody.content["application/json"];
  return validatorOf(document, content.schema);
}

function validate(message: DescMessage, json: JsonValue): string {
  return createValidator().validate(message, messageFromJson(message, json)).kind;
}

/** Models write 64-bit integers as text. */
function objectOf(value: Value): JsonValue {
  return value === none ? {} : { value };
}

function show(value: Value): string {
  return value === none ? "no value" : JSON.stringify(value);
}

function nameOf({ form, rules }: Row): string {
  const print = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
  return `${form} ${JSON.stringify(rules, print)}`;
}
