import { create, createFileRegistry, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageFromJson, messageToJson, parseJson } from "../../src/codec/json-messages.ts";
import { type EveryField, EveryFieldSchema, type Genre } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const big = 9007199254740993n;
const least = -(2n ** 63n);
const most = 2n ** 64n - 1n;
const text = { type: Type.STRING, label: Label.OPTIONAL };

function textOf(message: EveryField, int64?: "string" | "number"): string {
  return JSON.stringify(messageToJson(EveryFieldSchema, message, { ...(int64 && { int64 }) }));
}

describe("int64 as number", () => {
  test.each<[init: MessageInitShape<typeof EveryFieldSchema>, text: string]>([
    [{ int64: least }, `{"int64":${least}}`],
    [{ uint64: most }, `{"uint64":${most}}`],
    [{ int64List: [1n, -big] }, `{"int64List":[1,${-big}]}`],
    [{ int64ByInt64: { "5": big } }, `{"int64ByInt64":{"5":${big}}}`],
    [{ choice: { case: "choiceInt64", value: big } }, `{"choiceInt64":${big}}`],
    [{ int64Wrapper: big }, `{"int64Wrapper":${big}}`],
    [{ renamed: big }, `{"another-name":${big}}`],
    [{ asString: "5" }, '{"asString":5}'],
  ])("%o: %s", (init, text) => {
    expect(textOf(create(EveryFieldSchema, init), "number")).toBe(text);
  });

  test.each<[what: string, init: MessageInitShape<typeof EveryFieldSchema>]>([
    ["bytes", { bytes: new Uint8Array([0xd7, 0x6d, 0xf8]) }],
    ["doubles that are no numbers", { double: Number.NaN, doubleList: [Number.POSITIVE_INFINITY] }],
    ["a Struct", { struct: { int64: "5", value: "5", child: { int64: "5" } } }],
    ["an enum", { genre: 1, genreList: [2, 77 as Genre] }],
  ])("leaves %s unchanged", (_what, init) => {
    const message = create(EveryFieldSchema, init);
    expect(textOf(message, "number")).toBe(textOf(message));
  });

  test("in fields with their proto names", () => {
    const message = create(EveryFieldSchema, { int64List: [big], renamed: 5n });
    const options = { int64: "number", useProtoFieldName: true } as const;
    const json = messageToJson(EveryFieldSchema, message, options);
    expect(JSON.stringify(json)).toBe(`{"int64_list":[${big}],"renamed":5}`);
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

test.each([undefined, "string"] as const)("int64 is text if the option is %s", (int64) => {
  const message = create(EveryFieldSchema, { int64: big, int64Wrapper: 0n, int64List: [1n] });
  expect(textOf(message, int64)).toBe(`{"int64":"${big}","int64List":["1"],"int64Wrapper":"0"}`);
});

test("text with numbers is read as the same message", () => {
  fc.assert(
    fc.property(anyMessage(EveryFieldSchema), (message) => {
      const text = textOf(message, "number");
      expect(messageFromJson(EveryFieldSchema, parseJson(Buffer.from(text)))).toEqual(message);
    }),
  );
});
