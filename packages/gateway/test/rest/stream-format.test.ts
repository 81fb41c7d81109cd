import { describe, expect, test } from "vitest";
import { chooseStreamFormat, type StreamFormatName } from "../../src/rest/stream/stream-format.ts";

const types = {
  ndjson: "application/x-ndjson",
  sse: "text/event-stream",
  array: "application/json",
} as const;

describe("Accept", () => {
  const rows: readonly [
    accept: string | null,
    byDefault: StreamFormatName,
    chosen: StreamFormatName,
  ][] = [
    [null, "ndjson", "ndjson"],
    ["*/*", "sse", "sse"],
    ["text/html", "array", "array"],
    ["text/html, */*;q=0.8", "array", "array"],
    ["text/event-stream", "ndjson", "sse"],
    ["application/json", "ndjson", "array"],
    ["APPLICATION/JSON", "ndjson", "array"],
    ["application/json; charset=utf-8", "ndjson", "array"],
    ["application/json;q=0.5, text/event-stream;q=0.4", "ndjson", "array"],
    ["application/json;Q=0.1, text/event-stream;q=0.9", "ndjson", "sse"],
    ["application/json, text/event-stream", "sse", "sse"],
    ["application/json, text/event-stream", "array", "array"],
    ["application/json;q=0, text/event-stream;q=0.001", "ndjson", "sse"],
    ["application/json+x", "ndjson", "ndjson"],
    [",;,;q=1", "ndjson", "ndjson"],
  ];

  test.each(rows)("%j, and %s by default: %s", (accept, byDefault, chosen) => {
    expect(chooseStreamFormat(accept, byDefault).contentType).toBe(types[chosen]);
  });
});

test("an array whose stream fails before its first item is an array", () => {
  expect(chooseStreamFormat(null, "array").error("{}", 0)).toBe('[{"error":{}}]\n');
});
