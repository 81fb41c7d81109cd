/** The maximum number of values in a message: short bodies that would take long to read. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, messageValues } from "../src/codec/decode.ts";
import { parseJsonText } from "../src/codec/json-text.ts";
import { EveryFieldSchema, FieldService } from "./gen/library/v1/fields_pb.ts";
import { createEchoService, openFields } from "./support/echo.ts";
import { envelope } from "./support/envelope.ts";
import type { SentRequest } from "./support/gateway.ts";
import { jsonWays } from "./support/json-ways.ts";

async function send(request: SentRequest, readMaxValues?: number) {
  const service = createEchoService();
  await using gateway = await openFields(
    service,
    readMaxValues === undefined ? {} : { readMaxValues },
  );
  return { response: await gateway.send(request), received: service.received };
}

function parse(text: string, valuesMax: number) {
  const decoding = { parse: parseJsonText, readMaxValues: valuesMax };
  return decode(Buffer.from(text), decoding, undefined);
}

describe("a JSON text", () => {
  const rows: [text: string, values: number][] = [
    ['"a, [b], {c}, \\"d, e"', 1],
    ['{"a": 1, "b": [2, {"c": null}]}', 6],
    ["[[],{},[{}]]", 5],
    ['{"a": true, "b": false}', 3],
  ];
  test.each(rows)("%s is read if that many are allowed, and otherwise rejected", (text, values) => {
    expect(parse(text, values)).toEqual(JSON.parse(text));
    expect(() => parse(text, values - 1)).toThrow("has more than");
  });

  test("has as many values as JSON.stringify has to write", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        let values = 0;
        JSON.parse(text, (_key, value) => {
          values++;
          return value;
        });
        expect(() => parse(text, values)).not.toThrow();
        expect(() => parse(text, values - 1)).toThrow("has more than");
      }),
    );
  });
});

describe("text that is not JSON", () => {
  test.each(["1,", ", ", '"" ', "]"])("of repeated %j is rejected uncounted", (text) => {
    expect(() => parse(text.repeat(100), 50)).toThrow(/^the request is not valid JSON: /);
  });
});

function list(length: number, item: (i: number) => string): string {
  return Array.from({ length }, (_, i) => item(i)).join(",");
}

/** Those of an empty message. */
const own = messageValues(EveryFieldSchema);

describe.each(jsonWays)("JSON by $name", (way) => {
  const list = way.request('{"int32List": [1, 2, 3]}');

  test("is read with the maximum number of values", async () => {
    const { response, received } = await send(list, own + 5);
    expect(way.codeOf(response)).toBeUndefined();
    expect(received).toMatchObject([{ int32List: [1, 2, 3] }]);
  });

  test("is rejected with one more", async () => {
    const { response, received } = await send(list, own + 4);
    expect(way.codeOf(response)).toBe(Code.InvalidArgument);
    expect(received).toEqual([]);
  });
});

describe("protobuf", () => {
  const nested = toBinary(
    EveryFieldSchema,
    create(EveryFieldSchema, { child: { children: [{}] }, int32List: [1, 2, 3, 4, 5, 6, 7, 8] }),
  );
  const rows: [what: string, bytes: Uint8Array, values: number][] = [
    ["fields inside of fields, and a packed list", nested, 3 * own + 5],
    ["unknown fields", Buffer.alloc(60, Buffer.of(0x98, 0x3f, 0x01)), own + 60],
    ["what is in an unknown group", Buffer.of(0x9b, 0x3f, 0x08, 1, 0x08, 1, 0x9c, 0x3f), own + 9],
  ];
  const ways = [
    ["Connect", "application/proto", (bytes: Uint8Array) => bytes],
    ["gRPC-Web", "application/grpc-web+proto", (bytes: Uint8Array) => envelope(bytes)],
  ] as const;

  describe.each(ways)("by %s", (_name, contentType, wrap) => {
    const request = (bytes: Uint8Array): SentRequest => ({
      path: `/${FieldService.typeName}/Echo`,
      headers: { "content-type": contentType },
      body: wrap(bytes),
    });

    test.each(rows)("is read by the number of %s", async (_what, bytes, values) => {
      const whole = await send(request(bytes), values);
      expect(whole.received).toHaveLength(1);
      const refused = await send(request(bytes), values - 1);
      expect(refused.received).toEqual([]);
      const { body, headers } = refused.response;
      const answer = `${body} ${headers.get("grpc-message")}`;
      expect(answer).toContain(`more than ${values - 1} values`);
    });
  });
});

describe("by default", () => {
  const many = 100_000;
  const rows: [what: string, type: string, body: Buffer][] = [
    ["empty messages", "json", Buffer.from(`{"children":[{}${",{}".repeat(many)}]}`)],
    [
      "timestamps",
      "json",
      Buffer.from(`{"timestampList":[${list(many, () => '"2026-01-31T12:00:00Z"')}]}`),
    ],
    ["members", "json", Buffer.from(`{${list(many, (i) => `"unknown${i}":1`)}}`)],
    ["unknown fields", "proto", Buffer.alloc(3 * many, Buffer.of(0x98, 0x3f, 1))],
  ];

  test.each(rows)("a message of very many %s is refused", async (_what, type, body) => {
    const { response, received } = await send({
      path: `/${FieldService.typeName}/Echo`,
      headers: { "content-type": `application/${type}` },
      body,
    });
    expect(response.status).toBe(400);
    expect(`${response.body}`).toContain("has more than 262144 values");
    expect(received).toEqual([]);
  });

  const read: [what: string, json: string][] = [
    ["list of 100,000 numbers", `"int32List":[${list(many, () => "1")}]`],
    ["map of 40,000 entries", `"stringByString":{${list(40_000, (i) => `"${i}":""`)}}`],
    [
      "struct of 4,000 objects",
      `"struct":{"a":[${list(4000, (i) => `{"id":${i},"name":"x","ok":true}`)}]}`,
    ],
  ];
  test.each(read)("a %s is read", async (_what, json) => {
    const { response } = await send({
      path: `/${FieldService.typeName}/Echo`,
      headers: { "content-type": "application/json" },
      body: `{${json}}`,
    });
    expect(response.status).toBe(200);
    expect(JSON.parse(`${response.body}`)).toEqual(JSON.parse(`{${json}}`));
  });
});
