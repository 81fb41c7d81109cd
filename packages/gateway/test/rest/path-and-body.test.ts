/** Path, query and body together: equal values, and names that lead nowhere. */
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/codec/json-messages.ts";
import { bindRequest } from "../../src/rest/request/bind.ts";
import { findFieldPath, leafOf } from "../../src/rest/rule/field-path.ts";
import { splitArray } from "../../src/rest/stream/json-stream.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

function bind(name: string, text: string, body: string) {
  const { path } = findFieldPath(EveryFieldSchema, name) ?? {};
  if (path === undefined) throw new Error(`${name} is no field`);
  const parts = {
    pathValues: [{ path, text }],
    query: "",
    bodyField: "*" as const,
    body: parseJson(Buffer.from(body)),
  };
  return { [leafOf(path).localName]: "", ...bindRequest(EveryFieldSchema, parts, {}) };
}

function bindQuery(query: string) {
  const parts = { pathValues: [], query, bodyField: undefined, body: undefined };
  return bindRequest(EveryFieldSchema, parts, {});
}

test.each([
  ["int64", "1", '{"int64":1.0}'],
  ["int64", "1", '{"int64":1e0}'],
  ["int64", "9007199254740993", '{"int64":9007199254740993}'],
  ["double", "1", '{"double":1.0}'],
  ["double", "NaN", '{"double":"NaN"}'],
])("path %s=%s and body %s agree", (name, text, body) => {
  expect(() => bind(name, text, body)).not.toThrow();
});

test.each([
  ["int64", "9007199254740993", '{"int64":9007199254740992.0}'],
  ["int64", "9007199254740993", '{"int64":9007199254740992}'],
])("path %s=%s and body %s contradict each other", (name, text, body) => {
  expect(() => bind(name, text, body)).toThrow("must be what the path says");
});

describe("is not a known query parameter:", () => {
  test.each(["value.string_value=x", "timestamp.seconds=1", "int64_wrapper.value=1"])(
    "%s",
    (query) => {
      expect(() => bindQuery(query)).toThrow("is not a known query parameter");
    },
  );

  test("an endless path", () => {
    expect(() => bindQuery(`${"child.".repeat(2600)}int64=1`)).toThrow(
      "not a known query parameter",
    );
  });
});

test("an unencoded + of base64 is not lost", () => {
  expect(bindQuery("bytes=AA+/").bytes).toEqual(bindQuery("bytes=AA%2B%2F").bytes);
});

test.each(["[{}}", "[{},{}}"])("%s is not an array", async (text) => {
  async function* chunks() {
    yield Buffer.from(text);
  }
  const all = async () => {
    for await (const _ of splitArray(chunks(), { valueBytesMax: 100 }));
  };
  await expect(all()).rejects.toThrow("must be one JSON array");
});
