import { create, createFileRegistry, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { bindRequest } from "../../src/rest/request/bind.ts";
import { violationsOf } from "../support/bind.ts";

const text = { type: Type.STRING, label: Label.OPTIONAL };

/** Fields whose JSON names contain the separators of parameter names. */
const odd: MessageInitShape<typeof DescriptorProtoSchema> = {
  name: "Odd",
  field: [
    { ...text, number: 1, name: "brackets", jsonName: "a[b]" },
    { ...text, number: 2, name: "dots", jsonName: "a.b" },
    { ...text, number: 3, name: "bracket", jsonName: "a[" },
    { ...text, number: 6, name: "proto", jsonName: "__proto__" },
    {
      ...{ number: 4, name: "inner", jsonName: "a[0]" },
      ...{ type: Type.MESSAGE, typeName: ".test.v1.Odd", label: Label.OPTIONAL },
    },
    {
      ...{ number: 5, name: "entries", jsonName: "e[x]" },
      ...{ type: Type.MESSAGE, typeName: ".test.v1.Odd.EntriesEntry", label: Label.REPEATED },
    },
  ],
  nestedType: [
    {
      name: "EntriesEntry",
      options: { mapEntry: true },
      field: [
        { ...text, number: 1, name: "key", jsonName: "key" },
        { ...text, number: 2, name: "value", jsonName: "value" },
      ],
    },
  ],
};

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    ...{ name: "test/v1/odd.proto", package: "test.v1", syntax: "proto3", messageType: [odd] },
  }),
  () => undefined,
);

function bound(query: string) {
  const message = registry.getMessage("test.v1.Odd");
  if (message === undefined) throw new Error("the message was not built");
  const parts = { pathValues: [], query, bodyField: undefined, body: undefined };
  return toJson(message, bindRequest(message, parts, {}));
}

describe("a JSON name with brackets or dots is a parameter:", () => {
  test.each([
    ["a[b]=1", { "a[b]": "1" }],
    ["brackets=1", { "a[b]": "1" }],
    ["a.b=1", { "a.b": "1" }],
    ["a[=1", { "a[": "1" }],
    ["a[0].a[b]=1", { "a[0]": { "a[b]": "1" } }],
    ["__proto__=1&a[0].__proto__=2", JSON.parse('{"__proto__":"1","a[0]":{"__proto__":"2"}}')],
    ["e[x][k]=1", { "e[x]": { k: "1" } }],
    ["entries[k]=1&a[0].e[x][k]=2", { "e[x]": { k: "1" }, "a[0]": { "e[x]": { k: "2" } } }],
  ])("%s", (query, message) => {
    expect(bound(query)).toEqual(message);
  });

  const unknown = "is not a known query parameter";
  test.each<[name: string, why: string]>([
    ...["a", "a[c]", "a[b][c]", "a[b].c", "e[y]", "e[x].k", "a.", ".a[b]"].map(
      (name): [string, string] => [name, unknown],
    ),
    ["a[0]", "is a message, which a query cannot hold"],
    ["e[x]", "must have a key in brackets: e[x][key]"],
  ])("but not %s", (name, why) => {
    expect(violationsOf(() => bound(`${name}=1`))).toEqual([[name, why]]);
  });
});
