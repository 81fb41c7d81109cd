/**
 * The gateway accepts what a schema allows. No schema allows what the gateway rejects. Its answers match
 * their schema.
 */

import { ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { expect, test } from "vitest";
import { messageToJson } from "../../src/codec/json-messages.ts";
import { messageFromJson, parseJson } from "../../src/index.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { anyFieldJson, anyMessage } from "../support/arbitrary-message.ts";
import { documentOf, operationOf, validatorOf } from "./document-of.ts";

const document = documentOf(FieldService);
const content = operationOf(document, "Echo").requestBody.content["application/json"];
const allows = validatorOf(document, content.schema);

function isTaken(value: unknown): boolean {
  try {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    messageFromJson(EveryFieldSchema, parseJson(bytes), {});
    return true;
  } catch (error) {
    if (error instanceof ConnectError) return false;
    throw error;
  }
}

const field = (name: string, ...values: readonly unknown[]) =>
  values.map((value) => ({ [name]: value }));

const allowed = [
  {},
  ...field("double", 0, -1.5, 1e308),
  ...field("int32", 0, -2147483648, 2147483647, 1.0),
  ...field("uint32", 0, 4294967295),
  ...field("int64", 1, -1, "0", "-9223372036854775808", "9223372036854775807", 9007199254740991),
  ...field("bool", true, false),
  ...field("string", "", "é\n\u{1F33F}", "\\", "\0"),
  ...field("bytes", "", "AA==", "AAA=", "AAAA", "AA", "AAA", "-_-_", "+/+/"),
  ...field("genre", "GENRE_NOVEL", "GENRE_LOST", 0, 1, 99, -2147483648),
  ...field("int64List", [], ["1", 2]),
  ...field("children", [{}, {}]),
  ...field("stringByString", {}, { "": "", a: "b" }),
  ...field("int64ByInt64", { "-9223372036854775808": "1", "0": 2 }),
  ...field("doubleByInt32", { "-2147483648": 1.5 }),
  ...field("bytesByUint32", { "4294967295": "AA==" }),
  ...field("choiceNull", null),
  ...field("int64Wrapper", "9223372036854775807"),
  ...field("timestamp", "2024-02-29T23:59:59Z", "9999-12-31T23:59:59.999999999Z"),
  ...field("timestamp", "0001-01-01T00:00:00Z", "2024-01-01T00:00:00.5+01:30"),
  ...field("duration", "-1.5s", "315576000000s", "1.000000001s", "315576000000.5s", "-0s"),
  ...field("fieldMask", "", "title", "title,author.firstName", "*"),
  ...field("struct", {}, { a: { b: [1, null, "c"] } }),
  ...field("value", null, 1, "a", [], {}),
  ...field("any", {}),
  ...field("another-name", "1"),
];

/** The gateway rejects most of these. It accepts the others, but they need not be documented. */
const refused = [
  ...field("nothing", 1),
  ...field("double", "a", true, [], null),
  ...field("int32", 2147483648, -2147483649, 1.5, "x", true),
  ...field("uint32", -1, 4294967296),
  ...field("int64", 1.5, 1e19, "", " 1", "01", "1.0", "0x1", "-0", "1".repeat(20), true),
  ...field("uint64", -1, "-1", "1".repeat(21), 1e20),
  ...field("string", 1, ["a"]),
  ...field("bytes", "A", "AAAAA", "AA=A", "ä", "A===", "=", "_/", "+-AA", 1),
  ...field("genre", "GENRE_NONE", "novel", "1", 1.5, 2147483648, true, []),
  ...field("child", [], "a", { nothing: 1 }, { int32: "x" }),
  ...field("int64List", 1, [null], ["x"], {}),
  ...field("stringByString", { a: 1 }, { a: null }, []),
  ...field("int64ByInt64", { a: 1 }, { "01": 1 }, { "": 1 }, { "-0": 1 }),
  ...field("bytesByUint32", { "-1": "" }),
  ...field("genreByBool", { yes: "GENRE_NOVEL" }, { True: "GENRE_NOVEL" }),
  { choiceInt64: 1, choiceString: "a" },
  { choiceBool: false, choiceNull: null },
  ...field("choiceNull", 0, "NULL"),
  ...field("int64Wrapper", { value: 1 }, "x"),
  ...field("timestamp", "", "2024-01-01", "2024-13-01T00:00:00Z", "2024-02-30T00:00:00Z", 0),
  ...field("timestamp", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z", "2024-01-01t00:00:00z"),
  ...field("timestamp", "0000-01-01T00:00:00Z", "2024-01-01T00:00:00.1234567890Z"),
  ...field("duration", "1", "s", "1.s", "1.0000000001s", "1111111111111s", "1e3s", "+1s", 1),
  ...field("fieldMask", "first_name", 1, ["a"]),
  ...field("any", { a: 1 }, []),
  [],
  "a",
  null,
];

test.each(allowed.map((value) => [value]))("%j is allowed, and accepted", (value) => {
  expect(allows(value)).toBe(true);
  expect(isTaken(value)).toBe(true);
});

test.each(refused.map((value) => [value]))("%j is not allowed", (value) => {
  expect(allows(value)).toBe(false);
});

test("everything allowed is accepted, but for text of integers that are too large", () => {
  const names = EveryFieldSchema.fields.map(({ jsonName }) => jsonName);
  const message = fc.dictionary(fc.constantFrom(...names), anyFieldJson, { maxKeys: 2 });
  const property = fc.property(message, (json) => {
    if (allows(json)) expect([json, isTaken(json)]).toEqual([json, true]);
  });
  fc.assert(property, { numRuns: 5000 });
});

test.each(["string", "number"] as const)("answers match the schema, with int64 as %s", (int64) => {
  const document = documentOf(FieldService, { rest: { int64 } });
  const { schema } = operationOf(document, "Echo").responses["200"].content["application/json"];
  const allows = validatorOf(document, schema);
  expect(document.components.schemas.EveryField.properties.choiceNull).toEqual({ const: null });
  // Code generators make empty types of anyOf, and PHP has no class Float.
  expect(JSON.stringify(document)).not.toMatch(/(?<!"not":\{)"anyOf"|"Float"/);
  const property = fc.property(anyMessage(EveryFieldSchema), (message) => {
    // Messages of any type have no JSON without a registry, and numbers of enums have no name.
    let json: unknown;
    try {
      json = JSON.parse(JSON.stringify(messageToJson(EveryFieldSchema, message, { int64 })));
    } catch {
      return;
    }
    allows(json);
    expect([json, allows.errors]).toEqual([json, null]);
  });
  fc.assert(property, { numRuns: 300 });
});
