import {
  create,
  createFileRegistry,
  createRegistry,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  anyPack,
  FileDescriptorProtoSchema,
  FloatValueSchema,
  Int64ValueSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageFromJson, messageToJson, parseJson } from "../../src/codec/json-messages.ts";
import { floatMax } from "../../src/codec/json-scalar.ts";
import { barcode, CardSchema } from "../gen/library/v1/card_pb.ts";
import { type EveryField, EveryFieldSchema, type Genre } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const big = 9007199254740993n;
const least = -(2n ** 63n);
const most = 2n ** 64n - 1n;
const text = { type: Type.STRING, label: Label.OPTIONAL };

type Init = MessageInitShape<typeof EveryFieldSchema>;

const types = [Int64ValueSchema, FloatValueSchema, EveryFieldSchema, barcode];
const registry = createRegistry(...types);
const urlOf = (name: string) => `"@type":"type.googleapis.com/${name}"`;

function textOf(message: EveryField, int64?: "string" | "number"): string {
  const options = { registry, ...(int64 && { int64 }) };
  return JSON.stringify(messageToJson(EveryFieldSchema, message, options));
}

const tenth = Math.fround(0.1);
const float = anyPack(FloatValueSchema, create(FloatValueSchema, { value: tenth }));
const every = anyPack(EveryFieldSchema, create(EveryFieldSchema, { float: tenth }));
const long = anyPack(Int64ValueSchema, create(Int64ValueSchema, { value: big }));

test.each<[init: Init, text: string]>([
  [{ float: -0, floatList: [tenth, 2 ** 24] }, '{"float":-0,"floatList":[0.1,16777216]}'],
  // Some readers refuse the shortest form, 3.4028235e+38: it is a larger double.
  [{ floatWrapper: floatMax }, '{"floatWrapper":3.4028234663852886e+38}'],
  [{ doubleList: [tenth, -0] }, '{"doubleList":[0.10000000149011612,-0]}'],
  [{ doubleByInt32: { "1": -0 } }, '{"doubleByInt32":{"1":-0}}'],
  [{ childByString: { a: { float: tenth } } }, '{"childByString":{"a":{"float":0.1}}}'],
  [{ choice: { case: "choiceChild", value: { float: tenth } } }, '{"choiceChild":{"float":0.1}}'],
  [{ struct: { a: [{ b: -0 }] } }, '{"struct":{"a":[{"b":-0}]}}'],
  [{ any: float }, `{"any":{"value":0.1,${urlOf("google.protobuf.FloatValue")}}}`],
  [{ anyList: [every] }, `{"anyList":[{"float":0.1,${urlOf("library.v1.EveryField")}}]}`],
])("floats as the shortest number, and -0: %o: %s", (init, text) => {
  expect(textOf(create(EveryFieldSchema, init))).toBe(text);
});

describe("int64 as number", () => {
  test.each<[init: Init, text: string]>([
    [{ int64: least }, `{"int64":${least}}`],
    [{ uint64: most }, `{"uint64":${most}}`],
    [{ int64List: [1n, -big] }, `{"int64List":[1,${-big}]}`],
    [{ int64ByInt64: { "5": big } }, `{"int64ByInt64":{"5":${big}}}`],
    [{ choice: { case: "choiceInt64", value: big } }, `{"choiceInt64":${big}}`],
    [{ int64Wrapper: big }, `{"int64Wrapper":${big}}`],
    [{ renamed: big }, `{"another-name":${big}}`],
    [{ asString: "5" }, '{"asString":5}'],
    [{ any: long }, `{"any":{"value":${big},${urlOf("google.protobuf.Int64Value")}}}`],
  ])("%o: %s", (init, text) => {
    expect(textOf(create(EveryFieldSchema, init), "number")).toBe(text);
  });

  test.each<[what: string, init: Init]>([
    ["doubles that are no numbers", { double: Number.NaN, doubleList: [Number.POSITIVE_INFINITY] }],
    ["a Struct", { struct: { int64: "5", value: "5", child: { int64: "5" } } }],
    ["an enum", { genre: 1, genreList: [2, 77 as Genre] }],
  ])("leaves %s unchanged", (_what, init) => {
    const message = create(EveryFieldSchema, init);
    expect(textOf(message, "number")).toBe(textOf(message));
  });

  test("in extensions, and in fields with their proto names", () => {
    const message = create(EveryFieldSchema, { int64List: [big], renamed: 5n });
    const options = { int64: "number", useProtoFieldName: true, registry } as const;
    const json = messageToJson(EveryFieldSchema, message, options);
    expect(JSON.stringify(json)).toBe(`{"int64_list":[${big}],"renamed":5}`);
    const card = create(CardSchema);
    setExtension(card, barcode, big);
    const extended = messageToJson(CardSchema, card, options);
    expect(JSON.stringify(extended)).toBe(`{"[library.v1.barcode]":${big}}`);
  });
});

test("a field that is named as what every object has is not written unless it is set", () => {
  const names = ["constructor", "toString"];
  const field = names.map((name, i) => ({ ...{ name, jsonName: name, number: i + 1 }, ...text }));
  const proto = { name: "a.proto", syntax: "proto3", messageType: [{ name: "Car", field }] };
  const file = create(FileDescriptorProtoSchema, proto);
  const car = createFileRegistry(file, () => undefined).getMessage("Car");
  if (car === undefined) throw new Error("the message was not built");
  expect(Object.keys(messageToJson(car, create(car), { int64: "number" }) as object)).toEqual([]);
});

test("text with numbers is read as the same message", () => {
  fc.assert(
    fc.property(anyMessage(EveryFieldSchema), (message) => {
      const text = textOf(message, "number");
      expect(messageFromJson(EveryFieldSchema, parseJson(Buffer.from(text)))).toEqual(message);
    }),
  );
});
