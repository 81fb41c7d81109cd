import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { leafOf, resolveFieldPath } from "../../src/rest/rule/field-path.ts";
import {
  CreateVolumeRequestSchema,
  UpdateVolumeRequestSchema,
  VolumeSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

const namesOf = (fields: readonly DescField[]) => fields.map(({ name }) => name).join(".");

/** The proto names of the fields that the names lead to, or why they do not. */
function resolve(message: DescMessage, path: string): unknown {
  const resolved = resolveFieldPath(message, path.split("."));
  if (!("kind" in resolved)) return namesOf(resolved);
  const { kind } = resolved;
  return kind === "unknown"
    ? { kind, name: resolved.name, message: resolved.message.typeName }
    : { kind, field: resolved.field.name };
}

describe("names lead to a field:", () => {
  test.each<[message: DescMessage, path: string, fields: string]>([
    [EveryFieldSchema, "int64", "int64"],
    [EveryFieldSchema, "optional_int64", "optional_int64"],
    [EveryFieldSchema, "optionalInt64", "optional_int64"],
    [EveryFieldSchema, "renamed", "renamed"],
    [EveryFieldSchema, "another-name", "renamed"],
    [EveryFieldSchema, "child", "child"],
    [EveryFieldSchema, "child.int64", "child.int64"],
    [EveryFieldSchema, "child.child.child.int64", "child.child.child.int64"],
    [EveryFieldSchema, "choice_child.optionalInt64", "choice_child.optional_int64"],
    [EveryFieldSchema, "choiceChild.optional_int64", "choice_child.optional_int64"],
    [EveryFieldSchema, "choice_int64", "choice_int64"],
    [EveryFieldSchema, "int64_list", "int64_list"],
    [EveryFieldSchema, "children", "children"],
    [EveryFieldSchema, "child.string_by_string", "child.string_by_string"],
    [EveryFieldSchema, "timestamp", "timestamp"],
    [CreateVolumeRequestSchema, "volume.name", "volume.name"],
    [UpdateVolumeRequestSchema, "updateMask", "update_mask"],
  ])("%s, %s: %s", (message, path, fields) => {
    expect(resolve(message, path)).toBe(fields);
  });
});

describe("a name that matches no field is reported with the message that lacks it:", () => {
  test.each<[path: string, name: string]>([
    ["", ""],
    ["nothing", "nothing"],
    ["Int64", "Int64"],
    ["INT64", "INT64"],
    ["optionalint64", "optionalint64"],
    ["optional_Int64", "optional_Int64"],
    ["anotherName", "anotherName"],
    ["choice", "choice"], // a oneof is not a field
    ["4", "4"], // nor is a number
    ["nothing.int64", "nothing"],
    ["child.nothing", "nothing"],
    ["child..int64", ""],
    ["child.", ""],
    [".child", ""],
    ["toString", "toString"],
    ["__proto__", "__proto__"],
    ["library.v1.EveryField.int64", "library"],
  ])("%j", (path, name) => {
    expect(resolve(EveryFieldSchema, path)).toEqual({
      kind: "unknown",
      name,
      message: "library.v1.EveryField",
    });
  });

  test("a nested message", () => {
    expect(resolve(CreateVolumeRequestSchema, "volume.parent")).toEqual({
      kind: "unknown",
      name: "parent",
      message: "library.v1.Volume",
    });
  });
});

describe("names continue only from a singular message, not from", () => {
  test.each([
    ["a scalar", "int64.a", "int64"],
    ["a scalar in a message", "child.string.a", "string"],
    ["an enum", "genre.GENRE_NOVEL", "genre"],
    ["a repeated scalar", "int64_list.a", "int64_list"],
    ["a repeated message", "children.int64", "children"],
    ["an item", "children.0.int64", "children"],
    ["a map", "string_by_string.a", "string_by_string"],
    ["a map of messages", "child_by_string.a.int64", "child_by_string"],
  ])("%s: %s", (_what, path, field) => {
    expect(resolve(EveryFieldSchema, path)).toEqual({ kind: "not_a_message", field });
  });
});

test("the leaf is the last field", () => {
  const path = resolveFieldPath(CreateVolumeRequestSchema, ["volume", "title"]);
  expect("kind" in path ? undefined : leafOf(path)).toBe(VolumeSchema.field.title);
});
