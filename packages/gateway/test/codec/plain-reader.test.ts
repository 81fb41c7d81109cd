/** A plain message is read like any other, but without protobuf-es. */
import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMessage,
  toJson,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  Edition,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  StringValueSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageFromJson, parseJson } from "../../src/codec/json-messages.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { readPlainJson } from "../../src/codec/plain-reader.ts";
import { barcode } from "../gen/library/v1/card_pb.ts";
import { EveryFieldSchema, EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import { LabelSchema } from "../gen/library/v1/label_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";
import { readRest } from "../support/json-reader.ts";
import { refusalOf } from "../support/violations.ts";

const numbers = [
  ...["0", "-0", "0.0", "-0.0", "1", "-1", "1.0", "12e-1", "1.5", "1e3", "1e21", "1e400"],
  ...["2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296"],
  ...["9007199254740985", "-9007199254740989", "9007199254740991", "9007199254740993"],
  ...["-9007199254740993", "18014398509481983", "99999999999999999999", "100000000000000000000"],
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775808"],
  ...["18446744073709551615", "18446744073709551616", "3.4028234663852886e38", "3.5e38"],
];
const strings = [
  ...["", " 1", "01", "0x10", "NaN", "Infinity", "-Infinity", "true", "*", "+/8=", "-_8", "é🌱"],
  ...["\\ud800", "\\u0000"],
];
const values = [
  ...numbers,
  ...numbers.map((number) => `"${number}"`),
  ...strings.map((text) => `"${text}"`),
  ...["null", "true", "false", "{}", "[]", "[1]"],
  ...['{"int64":"9007199254740993","string":"é"}', '{"int64":1.5}', '{"optional_string":null}'],
  ...['{"optionalString":"","optional_string":"a"}', '{"a":1}'],
];

/** The result of a text: the fields that are set, or why it is rejected. */
function outcomeOf(desc: DescMessage, text: string, options: JsonOptions = {}): unknown {
  let message: Record<string, unknown> = {};
  const refusal = refusalOf(() => {
    message = readRest(desc, text, options) as unknown as Record<string, unknown>;
  });
  if (refusal !== "accepted") return refusal;
  const names = EveryScalarSchema.fields.map(({ localName }) => localName);
  return Object.fromEntries(names.map((name) => [name, withoutType(message[name])]));
}

function withoutType(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const { int64, string, optionalString } = value as Record<string, unknown>;
  return { int64, string, optionalString };
}

describe.each(EveryScalarSchema.fields)("$name", ({ name, jsonName }) => {
  test.each(values)("from %s", (json) => {
    for (const key of new Set([name, jsonName])) {
      const text = `{"${key}":${json}}`;
      expect(outcomeOf(EveryScalarSchema, text), text).toEqual(outcomeOf(EveryFieldSchema, text));
    }
  });
});

test.each(["1", "[]", "null", '{"a":1}', '{"[library.v1.barcode]":1}', '{"int64":1,"a":{}}', "{}"])(
  "a message from %s",
  (text) => {
    const registry = createRegistry(barcode);
    for (const options of [{}, { ignoreUnknownFields: true }, { registry }]) {
      const outcome = outcomeOf(EveryFieldSchema, text, options);
      expect(outcomeOf(EveryScalarSchema, text, options)).toEqual(outcome);
    }
  },
);

test("two names of one field are rejected, even if one has no value", () => {
  for (const json of ["1", "null"]) {
    const text = `{"optional_int64":1,"optionalInt64":${json}}`;
    expect(outcomeOf(EveryScalarSchema, text)).toEqual(outcomeOf(EveryFieldSchema, text));
  }
});

test("the message is like one from create()", () => {
  const message = readRest(EveryScalarSchema, '{"int64":1,"optional_string":"","child":{}}');
  expect(message).toEqual(create(EveryScalarSchema, { int64: 1n, optionalString: "", child: {} }));
  expect(Object.getPrototypeOf(message)).toBe(Object.getPrototypeOf(create(EveryScalarSchema)));
});

const other = fc.constantFrom(...' \t\n\r{}[]:,"\\/eE+-.0123456789xnullé🌱\u0000\ufeff');

test.each([EveryScalarSchema, LabelSchema])(
  "any text is read with the same result, or not at all: %s",
  (desc) => {
    let read = 0;
    const change = fc.record({ at: fc.nat(), removed: fc.nat(2), added: other });
    const changes = fc.array(change, { maxLength: 3 });
    const spaces = fc.constantFrom("", " ", "\n");
    fc.assert(
      fc.property(anyMessage(desc), changes, spaces, (message, changed, space) => {
        let text = JSON.stringify(toJson(desc, message), undefined, space);
        for (const { at, removed, added } of changed) {
          const start = at % (text.length + 1);
          text = text.slice(0, start) + added + text.slice(start + removed);
        }
        const bytes = Buffer.from(text);
        const plain = readPlainJson(desc, bytes, {});
        if (plain === undefined) return;
        read++;
        expect(plain).toStrictEqual(messageFromJson(desc, parseJson(bytes), {}));
      }),
      { numRuns: 10_000 },
    );
    expect(read).toBeGreaterThan(1000);
  },
);

test("any label is read without protobuf-es", () => {
  fc.assert(
    fc.property(anyMessage(LabelSchema), (message) => {
      const text = toJsonString(LabelSchema, message);
      expect(readPlainJson(LabelSchema, Buffer.from(text), {})).toStrictEqual(message);
      const exact = text.replace(/"id":"(-?\d+)"/, '"id":$1');
      expect(readPlainJson(LabelSchema, Buffer.from(exact), {})).toStrictEqual(message);
    }),
  );
});

test("numbers are exact beyond the limits of doubles", () => {
  for (const around of [2n ** 53n, 10n ** 16n, 2n ** 63n - 101n]) {
    for (let id = around - 100n; id <= around + 100n; id++) {
      for (const text of [`${id}`, `"${id}"`, `-${id}`, `"-${id}"`]) {
        const plain = readPlainJson(LabelSchema, Buffer.from(`{"id":${text}}`), {});
        expect(plain, text).toStrictEqual(
          create(LabelSchema, { id: text.includes("-") ? -id : id }),
        );
      }
    }
  }
});

test("text with too many values is left to the other reader, which rejects it", () => {
  const bytes = Buffer.from('{"int64":1,"child":{"string":"","int64":null},"bool":true}');
  expect(readPlainJson(EveryScalarSchema, bytes, {}, 6)).toBeDefined();
  expect(readPlainJson(EveryScalarSchema, bytes, {}, 5)).toBeUndefined();
  const empty = Buffer.from('{"int64":1,"child":null}');
  expect(readPlainJson(EveryScalarSchema, empty, {}, 3)).toBeDefined();
  expect(readPlainJson(EveryScalarSchema, empty, {}, 2)).toBeUndefined();
});

test("a custom depth limit is respected", () => {
  const text = '{"child":{"int64":1}}';
  expect(refusalOf(() => readRest(EveryScalarSchema, text, { recursionLimit: 2 }))).toBe(
    "accepted",
  );
  expect(refusalOf(() => readRest(EveryScalarSchema, text, { recursionLimit: 1 }))).not.toBe(
    "accepted",
  );
});

type FileInit = NonNullable<Parameters<typeof create<typeof FileDescriptorProtoSchema>>[1]>;
type MessageInit = NonNullable<FileInit["messageType"]>[number];

/** The last of some messages of `test.v1`, created without a compiler. */
function describeMessage(...messageType: MessageInit[]): DescMessage {
  const edition = Edition.EDITION_2023;
  const file = { name: "plain.proto", package: "test.v1", syntax: "editions", edition };
  const registry = createFileRegistry(
    create(FileDescriptorProtoSchema, { ...file, messageType }),
    () => undefined,
  );
  const desc = registry.getMessage(`test.v1.${messageType.at(-1)?.name}`);
  if (desc === undefined) throw new Error("there is no such message");
  return desc;
}

const label = Label.OPTIONAL;
const text = { name: "text", jsonName: "text", number: 1, label, type: Type.STRING };
const inner = { name: "Inner", field: [text] };
const held = {
  name: "held",
  jsonName: "held",
  number: 2,
  label,
  type: Type.MESSAGE,
  typeName: ".test.v1.Inner",
};

const others: readonly [what: string, ...fields: (typeof text & Record<string, unknown>)[]][] = [
  ["a list", { ...text, label: Label.REPEATED }],
  ["a member of a oneof", { ...text, oneofIndex: 0 }],
  ["itself", { ...held, typeName: ".test.v1.Outer" }],
  ["a key that JSON escapes", { ...text, jsonName: 'a"b' }],
  [
    "a key of another field",
    { ...text, jsonName: "other" },
    { ...text, name: "other", jsonName: "text", number: 2 },
  ],
];

test.each(others)("a message with %s is left to protobuf-es", (_what, ...field) => {
  const oneofDecl = [{ name: "choice" }];
  const desc = describeMessage(inner, { name: "Outer", field, oneofDecl });
  expect(readPlainJson(desc, Buffer.from("{}"), {})).toBeUndefined();
});

test("a message with its own JSON form is left to protobuf-es", () => {
  expect(readPlainJson(StringValueSchema, Buffer.from("{}"), {})).toBeUndefined();
});
