/** What body, query and path set, and fields that one of them repeats. */
import { describe, expect, test } from "vitest";
import { type FieldPath, findFieldPath, jsonPath } from "../../src/rest/rule/field-path.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { bind, bound, type Json, type Sent, violationsOf } from "../support/bind.ts";

const notObject = "must be a JSON object";
const notInt64 = "must be a 64-bit integer";
const both = { child: { string: "a", int64: "1" } };

describe("body, query and path each set their fields:", () => {
  test.each<[sent: Sent, message: Json]>([
    [{}, {}],
    [{ bodyField: "*", body: '{"string":"a"}' }, { string: "a" }],
    [{ bodyField: "child", body: '{"int64":1}' }, { child: { int64: "1" } }],
    [{ bodyField: "child", body: "{}" }, { child: {} }],
    [{ bodyField: "child", body: "null" }, {}],
    [{ bodyField: "int64", body: "9007199254740993" }, { int64: "9007199254740993" }],
    [{ bodyField: "int32_list", body: "[1,2]" }, { int32List: [1, 2] }],
    [{ bodyField: "string_by_string", body: '{"a":"b"}' }, { stringByString: { a: "b" } }],
    [{ bodyField: "child" }, {}],
    [
      { bodyField: "child", body: '{"int64":1}', query: "int64=2" },
      { child: { int64: "1" }, int64: "2" },
    ],
    [{ path: { "child.string": "a" }, query: "child.int64=1" }, both],
    [{ path: { "child.string": "a" }, bodyField: "child", body: '{"int64":1}' }, both],
    [
      { path: { string: "a" }, query: "int64=1", bodyField: "child", body: '{"bool":true}' },
      { string: "a", int64: "1", child: { bool: true } },
    ],
    [{ path: { "child.child.int64": "1" } }, { child: { child: { int64: "1" } } }],
    [{ path: { int64: "9007199254740993" } }, { int64: "9007199254740993" }],
    [{ path: { bytes: "+/8=" } }, { bytes: "+/8=" }],
    [{ path: { int64_wrapper: "0" } }, { int64Wrapper: "0" }],
  ])("%j: %j", (sent, message) => {
    expect(bound(sent)).toEqual(message);
  });

  test.each<[sent: Sent, field: string, description: string]>([
    [{ bodyField: "*", body: "[]" }, "", notObject],
    [{ bodyField: "*", body: "null" }, "", notObject],
    [{ bodyField: "child", body: "1" }, "child", notObject],
    [{ bodyField: "int64", body: '"a"' }, "int64", notInt64],
    [{ bodyField: "child", body: '{"a":1}' }, "child.a", "is not a known field"],
    [{ path: { int64: "a" } }, "int64", notInt64],
    [{ path: { bool: "1" } }, "bool", "must be true or false"],
    [{ path: { "child.string": "a" }, bodyField: "*", body: '{"child":[]}' }, "child", notObject],
  ])("but not %j: %s %s", (sent, field, description) => {
    expect(violationsOf(() => bind(sent))).toEqual([[field, description]]);
  });
});

/** A repetition in a body, and in a query if possible. */
interface Claim {
  readonly field: string;
  readonly path: string;
  readonly body?: string;
  readonly query?: string;
}

function sentOf({ field, path, body, query = "" }: Claim): Sent {
  const parts = { path: { [field]: path }, query };
  return body === undefined ? parts : { ...parts, bodyField: "*", body };
}

describe("a body or query that agrees with the path is accepted:", () => {
  test.each<[field: string, path: string, said: Partial<Claim>]>([
    ["string", "a", { body: '{"string":"a"}' }],
    ["string", "a", { query: "string=a" }],
    ["child.string", "a", { body: '{"child":{"string":"a"}}' }],
    // With either name.
    ["optional_int64", "1", { body: '{"optional_int64":"1"}' }],
    ["optional_int64", "1", { query: "optional_int64=1" }],
    ["renamed", "1", { body: '{"another-name":1}' }],
    ["choice_child.optional_int64", "1", { body: '{"choice_child":{"optional_int64":1}}' }],
    // In any form.
    ["int64", "1", { body: '{"int64":1.0}' }],
    ["int64", "0", { body: '{"int64":"-0"}' }],
    ["int64", "9007199254740993", { body: '{"int64":"9007199254740993"}' }],
    ["double", "1.0", { body: '{"double":1}' }],
    ["genre", "GENRE_NOVEL", { body: '{"genre":1}' }],
    ["genre", "1", { query: "genre=GENRE_NOVEL" }],
    ["bytes", "-_8", { body: '{"bytes":"+/8="}' }],
    ["timestamp", "2026-01-02T03:04:05Z", { body: '{"timestamp":"2026-01-02T04:04:05+01:00"}' }],
    // null sets nothing.
    ["string", "a", { body: '{"string":null}' }],
    ["optional_int64", "1", { body: '{"optional_int64":null}' }],
    ["child.string", "a", { body: '{"child":null}' }],
    ["choice_int64", "1", { body: '{"choiceString":null}' }],
    ["choice_child.string", "a", { body: '{"choiceChild":null,"choiceBool":null}' }],
    // Neither does this.
    ["child.string", "a", { body: '{"child":{}}' }],
  ])("%s is %j, and %j", (field, path, said) => {
    expect(bound(sentOf({ field, path, ...said }))).toEqual(bound({ path: { [field]: path } }));
  });
});

describe("a body or query that contradicts the path is rejected:", () => {
  const otherwise = "must be what the path says, or be left out";
  test.each<[field: string, path: string, said: Partial<Claim>]>([
    ["string", "a", { body: '{"string":"b"}' }],
    ["string", "a", { query: "string=b" }],
    ["string", "", { query: "string=a" }],
    ["string", "é", { query: "string=e%CC%81" }], // not normalised
    ["child.string", "a", { body: '{"child":{"string":"b"}}' }],
    ["optional_int64", "1", { body: '{"optional_int64":"2"}' }],
    ["int64", "9007199254740993", { body: '{"int64":"9007199254740992"}' }],
    ["int64", "9007199254740993", { body: '{"int64":9007199254740992.0}' }],
    ["double", "1", { query: "double=1.5" }],
    ["genre", "1", { body: '{"genre":"GENRE_ATLAS"}' }],
    ["bytes", "-_8", { query: "bytes=AA" }],
    ["timestamp", "2026-01-02T03:04:05Z", { body: '{"timestamp":"2026-01-02T03:04:05.1Z"}' }],
    ["field_mask", "a,b", { query: "field_mask=b,a" }],
  ])("%s is %j, but %j", (field, path, said) => {
    const names = findFieldPath(EveryFieldSchema, field)?.path as FieldPath;
    expect(violationsOf(() => bind(sentOf({ field, path, ...said })))).toEqual([
      [jsonPath(names), otherwise],
    ]);
  });

  const once = "must be given once";
  const oneof = "must have one member only";
  test.each<[field: string, said: Partial<Claim>, violated: string, why: string]>([
    // However often it occurs, it is a scalar.
    ["string", { query: "string=1&string=1" }, "string", once],
    // A second name must not bypass the path.
    ["renamed", { body: '{"another-name":null,"renamed":2}' }, "renamed", once],
    // Neither must another member of its oneof.
    ["choice_int64", { body: '{"choiceString":"a"}' }, "choice", oneof],
    ["choice_int64", { body: '{"choiceNull":null}' }, "choice", oneof],
    ["choice_int64", { query: "choice_string=a" }, "choice", oneof],
    ["choice_child.int64", { body: '{"choiceString":"a"}' }, "choice", oneof],
  ])("%s is 1, but %j", (field, said, violated, why) => {
    expect(violationsOf(() => bind(sentOf({ field, path: "1", ...said })))).toEqual([
      [violated, why],
    ]);
  });
});
