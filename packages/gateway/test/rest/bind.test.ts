import { type DescMessage, type DescMethod, type MessageShape, toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { bindRequest } from "../../src/rest/request/bind.ts";
import { captureVariable } from "../../src/rest/rule/path-template.ts";
import { bindingsOf } from "../../src/rest/rule/rule.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { bind, bound, type Json, parsed, type Sent, violationsOf } from "../support/bind.ts";

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

describe("a request of the catalog becomes the message of its method:", () => {
  interface Request {
    readonly path: string;
    readonly query?: string;
    readonly body?: string;
  }

  /** Binds by the method's rule. The path must match it, and has no verb. */
  function bindMethod(method: DescMethod, { path, query = "", body }: Request, rule = 0) {
    const binding = bindingsOf(method)[rule];
    if (binding === undefined) throw new Error(`${method.name} has no rule ${rule}`);
    const segments = path.split("/").slice(1);
    const pathValues = binding.variables.map((variable) => ({
      path: variable.path,
      text: captureVariable(binding.template, variable, segments) ?? "",
    }));
    const parts = { pathValues, query, bodyField: binding.body, body: parsed(body) };
    const message: MessageShape<DescMessage> = bindRequest(method.input, parts, {});
    return toJson(method.input, message);
  }

  const volumes = "/v1/shelves/1/volumes";
  const volume = `${volumes}/2`;
  const name = "shelves/1/volumes/2";
  const { getVolume, listVolumes, createVolume, updateVolume, moveVolume, readFile } =
    CatalogService.method;

  test.each<[method: DescMethod, request: Request, message: Json]>([
    [getVolume, { path: volume }, { name }],
    [getVolume, { path: "/v1/shelves/a%20b/volumes/c%2Fd" }, { name: "shelves/a b/volumes/c%2Fd" }],
    [
      listVolumes,
      { path: volumes, query: "page_size=2&titles=a&titles=b" },
      { parent: "shelves/1", pageSize: 2, titles: ["a", "b"] },
    ],
    [
      createVolume,
      { path: volumes, query: "validateOnly=true", body: '{"title":"a"}' },
      { parent: "shelves/1", validateOnly: true, volume: { title: "a" } },
    ],
    [
      updateVolume,
      { path: volume, query: "update_mask=title", body: '{"title":"a"}' },
      { volume: { name, title: "a" }, updateMask: "title" },
    ],
    [updateVolume, { path: volume, body: '{"name":"shelves/1/volumes/2"}' }, { volume: { name } }],
    [moveVolume, { path: volume, body: '{"to":"shelves/3"}' }, { name, to: "shelves/3" }],
    [readFile, { path: "/v1/files/a/b%2Fc" }, { path: "a/b%2Fc" }],
    [readFile, { path: "/v1/files" }, {}],
  ])("$name: %j", (method, request, message) => {
    expect(bindMethod(method, request)).toEqual(message);
  });

  test("by an additional binding", () => {
    const request = { path: "/v1/volumes/9007199254740993" };
    expect(bindMethod(getVolume, request, 1)).toEqual({ id: "9007199254740993" });
  });

  const otherwise = "must be what the path says, or be left out";
  const inBody = "belongs in the body, not in the query";
  test.each<[method: DescMethod, request: Request, field: string, description: string]>([
    [getVolume, { path: volume, query: "name=shelves/1/volumes/3" }, "name", otherwise],
    [updateVolume, { path: volume, body: '{"name":"shelves/1"}' }, "volume.name", otherwise],
    [updateVolume, { path: volume, query: "volume.title=a" }, "volume.title", inBody],
    [moveVolume, { path: volume, query: "to=shelves/3", body: "{}" }, "to", inBody],
    // Values that differ only in their escapes are different.
    [
      getVolume,
      { path: "/v1/shelves/1/volumes/a%2Fb", query: "name=shelves/1/volumes/a/b" },
      "name",
      otherwise,
    ],
  ])("$name: not %j", (method, request, field, description) => {
    expect(violationsOf(() => bindMethod(method, request))).toEqual([[field, description]]);
  });
});
