import type { DescField } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { FieldViolation } from "../../src/codec/violation.ts";
import { parameterReader } from "../../src/rest/rule/field-path.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

function fieldOf(name: string): DescField {
  const field = EveryFieldSchema.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new Error(`there is no field ${name}`);
  return field;
}

describe("the text of one value is converted to JSON of its field:", () => {
  test.each<[field: string, text: string, json: unknown]>([
    ["string", "", ""],
    ["string", "true", "true"],
    ["string", "é", "é"],
    ["bool", "true", true],
    ["bool", "false", false],
    ["optional_bool", "false", false],
    ["bool_wrapper", "true", true],
    ["bool_list", "true", true],
    ["choice_bool", "false", false],
    // ProtoJSON reads numbers from strings, exactly.
    ["int32", "1", "1"],
    ["int64", "9223372036854775807", "9223372036854775807"],
    ["uint64_wrapper", "18446744073709551615", "18446744073709551615"],
    ["double", "0.1", "0.1"],
    ["double", "NaN", "NaN"],
    ["int64_list", "1", "1"],
    ["int64_by_int64", "1", "1"],
    ["bytes", "AA==", "AA=="],
    ["bytes_wrapper", "-_8", "-_8"],
    // An enum is read from its name or its number.
    ["genre", "GENRE_NOVEL", "GENRE_NOVEL"],
    ["genre", "1", 1],
    ["genre", "-1", -1],
    ["genre", "99", 99],
    ["genre", "1.0", "1.0"],
    ["genre", "", ""],
    ["genre_list", "GENRE_ATLAS", "GENRE_ATLAS"],
    ["genre_list", "2", 2],
    ["genre_by_bool", "2", 2],
    ["choice_null", "NULL_VALUE", "NULL_VALUE"],
    // Messages that ProtoJSON writes as a string.
    ["timestamp", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
    ["timestamp_list", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
    ["choice_duration", "1.5s", "1.5s"],
    ["field_mask", "a,b.c", "a,b.c"],
    ["int64_wrapper_by_int32", "1", "1"],
  ])("%s, %j -> %j", (field, text, json) => {
    expect(parameterReader(fieldOf(field))?.(text)).toBe(json);
  });
});

describe("a bool has two spellings, and not this:", () => {
  test.each(["", "1", "0", "TRUE", "True", "t", "yes", "on", " true", "true ", "null"])(
    "%j",
    (text) => {
      for (const name of ["bool", "optional_bool", "bool_wrapper", "bool_list", "choice_bool"]) {
        expect(() => parameterReader(fieldOf(name))?.(text)).toThrow(
          new FieldViolation("", "must be true or false"),
        );
      }
    },
  );
});

test("of all fields, only those of these messages have no text form", () => {
  const without = EveryFieldSchema.fields.filter((field) => parameterReader(field) === undefined);
  expect(without.map(({ name, message }) => [name, message?.typeName])).toEqual([
    ["child", "library.v1.EveryField"],
    ["children", "library.v1.EveryField"],
    ["child_by_string", "library.v1.EveryField"],
    ["child_by_sint64", "library.v1.EveryField"],
    ["choice_child", "library.v1.EveryField"],
    ["struct", "google.protobuf.Struct"],
    ["value", "google.protobuf.Value"],
    ["list_value", "google.protobuf.ListValue"],
    ["any", "google.protobuf.Any"],
    ["any_list", "google.protobuf.Any"],
    ["value_by_string", "google.protobuf.Value"],
  ]);
});
