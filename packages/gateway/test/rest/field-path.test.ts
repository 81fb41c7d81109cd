import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { findFieldPath, leafOf } from "../../src/rest/rule/field-path.ts";
import {
  CreateVolumeRequestSchema,
  UpdateVolumeRequestSchema,
  VolumeSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

const namesOf = (fields: readonly DescField[]) => fields.map(({ name }) => name).join(".");

/** The proto names of the fields that the names lead to. */
function resolve(message: DescMessage, path: string): string | undefined {
  const found = findFieldPath(message, path);
  return found && namesOf(found.path);
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

describe("names lead nowhere:", () => {
  test.each([
    ...["", "nothing", "Int64", "INT64", "optionalint64", "optional_Int64", "anotherName"],
    ...["choice", "4", "nothing.int64", "child.nothing", "child..int64", "child.", ".child"],
    ...["toString", "__proto__", "library.v1.EveryField.int64"],
  ])("%j", (path) => {
    expect(resolve(EveryFieldSchema, path)).toBeUndefined();
  });
});

describe("names continue only from a singular message, not from", () => {
  test.each([
    ["a scalar", "int64.a"],
    ["a scalar in a message", "child.string.a"],
    ["an enum", "genre.GENRE_NOVEL"],
    ["a repeated scalar", "int64_list.a"],
    ["a repeated message", "children.int64"],
    ["an item", "children.0.int64"],
    ["a map", "string_by_string.a"],
    ["a map of messages", "child_by_string.a.int64"],
  ])("%s: %s", (_what, path) => {
    expect(resolve(EveryFieldSchema, path)).toBeUndefined();
  });
});

test("the leaf is the last field", () => {
  const found = findFieldPath(CreateVolumeRequestSchema, "volume.title");
  expect(found && leafOf(found.path)).toBe(VolumeSchema.field.title);
});
