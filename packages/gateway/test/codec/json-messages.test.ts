import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  Int64ValueSchema,
  FieldDescriptorProto_Label as Label,
  TimestampSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageToJson } from "../../src/codec/json-messages.ts";
import { assertWireFormat, writeBinary } from "../../src/codec/wire-format.ts";
import { CardSchema, file_library_v1_card } from "../gen/library/v1/card_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { BookSchema, LibrarySchema } from "../gen/library/v1/library_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";
import { readJson as read } from "../support/json-reader.ts";
import { refusalOf } from "../support/violations.ts";

const inAny = [BookSchema, Int64ValueSchema, TimestampSchema];
const registry = createRegistry(...inAny, EveryFieldSchema);

const ofValue = { type: Type.MESSAGE, typeName: ".google.protobuf.Value" };
const ofNull = { type: Type.ENUM, typeName: ".google.protobuf.NullValue" };
const files = [file_library_v1_card, file_google_protobuf_struct];
const file = create(FileDescriptorProtoSchema, {
  ...{ name: "a.proto", package: "a", dependency: files.map(({ name }) => `${name}.proto`) },
  messageType: [
    { name: "Whole", field: [{ name: "id", number: 1, type: Type.INT64, label: Label.REQUIRED }] },
  ],
  extension: [
    { name: "whole", number: 100, type: Type.MESSAGE, typeName: ".a.Whole" },
    { name: "value", number: 101, ...ofValue },
    { name: "none", number: 102, ...ofNull },
    { name: "list", number: 103, ...ofValue, label: Label.REPEATED },
  ].map((one) => ({ label: Label.OPTIONAL, extendee: ".library.v1.Card", ...one })),
});
const extended = {
  registry: createFileRegistry(file, (path) => files.find(({ name }) => `${name}.proto` === path)),
};

const notObject = "must be a JSON object";
const notInt64 = "must be a 64-bit integer";
const notText = "must be a string";

describe("the violation names", () => {
  test.each<[text: string, field: string, description: string]>([
    ['{"shelves":[{},{},{"books":{"x":{"id":"1.5"}}}]}', 'shelves[2].books["x"].id', notInt64],
    ['{"shelvesByRoom":{"7":{"books":{"x":true}}}}', 'shelvesByRoom["7"].books["x"]', notObject],
    ['{"shelvesByRoom":{"\\ud800":{}}}', 'shelvesByRoom["\ufffd"]', notInt64],
    ['{"shelves":[{"annex":{"annex":{"theme":false}}}]}', "shelves[0].annex.annex.theme", notText],
    [
      '{"shelves":[{"new_books":[{"authors":["a","b",3]}]}]}',
      "shelves[0].new_books[0].authors[2]",
      notText,
    ],
    ['{"shelves":[{"books":{"x":{"n":null}}}]}', 'shelves[0].books["x"].n', "is not a known field"],
  ])("%s: %s", (text, field, description) => {
    expect(refusalOf(() => read(LibrarySchema, text))).toMatchObject({
      violations: [[field, description]],
    });
  });

  test.each<[what: string, text: string, field: string]>([
    ["a map's value that is null", '{"child":{"int64ByInt64":{"1":null}}}', "child.int64ByInt64"],
    ["a field mask", '{"child":{"fieldMask":"a_b"}}', "child.fieldMask"],
    ["an Any of an unknown type", '{"child":{"any":{"@type":"a/b.C"}}}', "child.any"],
    ["two members of a oneof", '{"child":{"choiceInt64":1,"choiceString":""}}', "child.choice"],
    ["both names of a field", '{"child":{"double_list":[],"doubleList":[]}}', "child"],
  ])("%s: %s", (_what, text, field) => {
    expect(refusalOf(() => read(EveryFieldSchema, text))).toMatchObject({
      violations: [[expect.stringContaining(field), expect.any(String)]],
    });
  });
});

describe("JSON:", () => {
  test.each([
    ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "is not valid UTF-8"],
    ["not JSON", "{", /^is not valid JSON: /],
    ["a member that is named twice", '{"a":1,"a":1}', 'has "a" twice in one JSON object'],
    ["too deep", "[".repeat(201) + "]".repeat(201), "nests deeper than 200 levels"],
  ])("text that is %s is a violation of the request", (_what, text, description) => {
    expect(refusalOf(() => read(LibrarySchema, text))).toMatchObject({
      message: expect.stringMatching(/^the request /),
      violations: [["", expect.stringMatching(description)]],
    });
  });

  test("unknown fields are ignored if the options say so, at every depth", () => {
    const text = `{"isbn":1.0,"shelves":[{"isbn":{"a":[9007199254740993]},"theme":"t"}],"[x.y]":1}`;
    const message = read(LibrarySchema, text, { ignoreUnknownFields: true });
    expect(toJson(LibrarySchema, message)).toEqual({ shelves: [{ theme: "t" }] });
  });

  test("an extension that is not in the registry, or of another message, is unknown", () => {
    const text = '{"[library.v1.barcode]":1}';
    expect(refusalOf(() => read(CardSchema, text))).not.toBe("accepted");
    const options = { ...extended, ignoreUnknownFields: true };
    expect(refusalOf(() => read(CardSchema, text, options))).toBe("accepted");
    expect(refusalOf(() => read(EveryFieldSchema, '{"[a.value]":1}', options))).toBe("accepted");
  });

  test("an extension's message lacks a field that proto2 requires", () => {
    const refusal = refusalOf(() => read(CardSchema, '{"[a.whole]":{}}', extended));
    expect(refusal).toMatchObject({ violations: [["[a.whole]", "must be a whole a.Whole"]] });
  });

  test("null means not set, except for a Value and a NullValue", () => {
    const { fields } = EveryFieldSchema;
    const some = fields.filter(({ jsonName, oneof }) => !oneof && jsonName !== "value");
    const text = JSON.stringify(Object.fromEntries(some.map(({ jsonName }) => [jsonName, null])));
    expect(read(EveryFieldSchema, text)).toEqual(create(EveryFieldSchema));
    const nulls = read(EveryFieldSchema, '{"value":null,"choiceNull":null}');
    expect(toJson(EveryFieldSchema, nulls)).toEqual({ value: null, choiceNull: null });
    const card = read(CardSchema, '{"[a.value]":null,"[a.none]":null,"[a.list]":null}', extended);
    expect(toJson(CardSchema, card, extended)).toEqual({ "[a.value]": null, "[a.none]": null });
  });
});

describe("for any message", () => {
  const types: readonly [name: string, desc: DescMessage][] = [
    ["EveryField", EveryFieldSchema],
    ["Library", LibrarySchema],
    ["Card", CardSchema],
  ];

  describe.each(types)("%s", (_name, desc) => {
    const options = { registry };
    const messages = anyMessage(desc, { depth: 2, inAny });
    const indents = fc.constantFrom(undefined, 1, "\t");
    test("its JSON gives an equal message", () => {
      fc.assert(
        fc.property(messages, fc.boolean(), indents, (message, useProtoFieldName, indent) => {
          const json = messageToJson(desc, message, { registry, useProtoFieldName });
          const result = read(desc, JSON.stringify(json, undefined, indent), options);
          expect(result).toEqual(message);
          expect(writeBinary(desc, result)).toEqual(toBinary(desc, message));
          assertWireFormat(desc, toBinary(desc, message));
        }),
      );
    });

    test("whatever protobuf-es reads from its JSON, changed in any one place, ours reads", () => {
      fc.assert(
        fc.property(messages, fc.nat(), replacement, (message, at, value) => {
          const text = JSON.stringify(replaceAt(toJson(desc, message, { registry }), at, value));
          fc.pre(!/"@type":"(?!type\.googleapis\.com\/)/.test(text)); // it sets its own prefix
          const sent = () => toBinary(desc, fromJsonString(desc, text, options)); // rounds floats
          const expected = outcome(() => fromBinary(desc, sent()));
          // It may reject more (`"0x10"`, `" 1"`), never less, and never read another value.
          const actual = outcome(() => read(desc, text, options));
          if (actual !== "refused") expect(actual).toEqual(expected);
        }),
        { numRuns: 500, interruptAfterTimeLimit: 3000 },
      );
    });
  });
});

/** JSON that is easily confused with other JSON. */
const replacement: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(
    ...[null, true, false, 0, 1, -1, 1.5, 1e21, 1.5e300, -1e21, 2 ** 31, 2 ** 32, 2 ** 53],
    ...["", " ", "0", "1", "01", " 1", "1 ", "0x10", "1.0", "1e2", "NaN", "Infinity"],
    ...["true", "AAAA", "A", "GENRE_NOVEL", "1s", "-0.5s", "1970-01-01T00:00:00Z", "a,bC"],
    ...["\ud800", "\0", "__proto__"],
    ...[[], [null], [[]], [1], ["1"], [{}], {}, { a: 1 }, { "1": 1 }, { "01": 1 }, { a: null }],
    ...[{ value: 1 }, { "@type": "a/library.v1.Book", id: "1" }, { "@type": "a/b" }, { "1": {} }],
  ),
  fc.integer(),
  fc.string(),
);

/** The JSON with its nth value replaced. */
function replaceAt(json: JsonValue, index: number, value: JsonValue): JsonValue {
  let rest = index % countValues(json);
  function visit(node: JsonValue): JsonValue {
    if (rest-- === 0) return value;
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== "object" || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [key, visit(child)]));
  }
  return visit(json);
}

function countValues(json: JsonValue): number {
  if (typeof json !== "object" || json === null) return 1;
  return Object.values(json).reduce<number>((sum, child) => sum + countValues(child), 1);
}

/** The message, or "refused". Rethrows any error that is not meant for a caller. */
function outcome<T>(read: () => T): T | "refused" {
  try {
    return read();
  } catch (error) {
    const isRefusal = error instanceof ConnectError && error.code === Code.InvalidArgument;
    if ((error instanceof Error && error.constructor === Error) || isRefusal) return "refused";
    throw error;
  }
}
