/** Which messages are plain: those with only one way to write every value. */
import { create, createFileRegistry, type DescMessage } from "@bufbuild/protobuf";
import {
  Edition,
  FeatureSet_FieldPresence,
  FeatureSet_MessageEncoding,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  StringValueSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { plainMessageOf } from "../../src/codec/plain-message.ts";

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
const delimited = { features: { messageEncoding: FeatureSet_MessageEncoding.DELIMITED } };
const required = { features: { fieldPresence: FeatureSet_FieldPresence.LEGACY_REQUIRED } };

test("scalars are, and messages of scalars", () => {
  const desc = describeMessage(inner, { name: "Outer", field: [text, held] });
  expect(plainMessageOf(desc)?.fields.map(({ name }) => name)).toEqual(["text", "held"]);
});

test("fields are in the order of their numbers", () => {
  const last = { ...text, name: "last", jsonName: "last", number: 2 ** 28 - 1 };
  const desc = describeMessage({ name: "Outer", field: [last, text] });
  expect(plainMessageOf(desc)?.fields.map(({ name }) => name)).toEqual(["text", "last"]);
});

const others: readonly [what: string, ...fields: (typeof text & Record<string, unknown>)[]][] = [
  ["a list", { ...text, label: Label.REPEATED }],
  ["a member of a oneof", { ...text, oneofIndex: 0 }],
  ["a group", { ...held, options: delimited }],
  ["a required field", { ...text, options: required }],
  ["a number whose tag has 32 bits", { ...text, number: 2 ** 28 }],
  ["a key that JSON escapes", { ...text, jsonName: 'a"b' }],
  ["a key that JSON puts first", { ...text, jsonName: "7" }],
  [
    "a key of another field",
    { ...text, jsonName: "other" },
    { ...text, name: "other", jsonName: "text", number: 2 },
  ],
];

test.each(others)("%s is not", (_what, ...field) => {
  const oneofDecl = [{ name: "choice" }];
  expect(
    plainMessageOf(describeMessage(inner, { name: "Outer", field, oneofDecl })),
  ).toBeUndefined();
});

test("a message that contains itself, nests deeply, or has its own JSON form is not", () => {
  const own = { ...held, typeName: ".test.v1.Outer" };
  expect(plainMessageOf(describeMessage({ name: "Outer", field: [own] }))).toBeUndefined();
  const chain = Array.from({ length: 40 }, (_, n) => ({
    name: `Level${n}`,
    field: n === 0 ? [text] : [{ ...held, typeName: `.test.v1.Level${n - 1}` }],
  }));
  expect(plainMessageOf(describeMessage(...chain.slice(0, 30)))?.depth).toBe(30);
  expect(plainMessageOf(describeMessage(...chain.slice(0, 31)))).toBeUndefined();
  expect(plainMessageOf(describeMessage(...chain))).toBeUndefined();
  expect(plainMessageOf(StringValueSchema)).toBeUndefined();
});
