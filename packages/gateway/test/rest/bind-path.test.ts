/** Fields that the path sets, and body or query repeat. */
import { describe, expect, test } from "vitest";
import { type FieldPath, findFieldPath, jsonPath } from "../../src/rest/rule/field-path.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { bind, bound, type Sent, violationsOf } from "../support/bind.ts";

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
