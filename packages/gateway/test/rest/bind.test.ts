import { describe, expect, test } from "vitest";
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
