/** The maximum number of values in a message: short bodies that would take long to read. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
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
  await using gateway = await openFields(service, readMaxValues ? { readMaxValues } : {});
  return { response: await gateway.send(request), received: service.received };
}

function parse(text: string, readMaxValues: number) {
  return decode(Buffer.from(text), { parse: parseJsonText, readMaxValues }, undefined);
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

test.each(["1,", ", ", '"" ', "]"])("repeated %j, no JSON, is rejected uncounted", (text) => {
  expect(() => parse(text.repeat(100), 50)).toThrow(/^the request is not valid JSON: /);
});

function list(length: number, item: (i: number) => string): string {
  return Array.from({ length }, (_, i) => item(i)).join(",");
}

function bytesOf(init: MessageInitShape<typeof EveryFieldSchema>): Buffer {
  return Buffer.from(toBinary(EveryFieldSchema, create(EveryFieldSchema, init)));
}

/** Those of an empty message. */
const own = messageValues(EveryFieldSchema);

describe.each(jsonWays)("JSON by $name", (way) => {
  const list = way.request('{"int32List": [1, 2, 3]}');

  test("is read with the maximum number of values, and rejected with one more", async () => {
    const read = await send(list, own + 5);
    expect(way.codeOf(read.response)).toBeUndefined();
    expect(read.received).toMatchObject([{ int32List: [1, 2, 3] }]);
    const refused = await send(list, own + 4);
    expect(way.codeOf(refused.response)).toBe(Code.InvalidArgument);
    expect(refused.received).toEqual([]);
  });
});

describe.each([
  ["Connect", "application/proto", (bytes: Uint8Array) => bytes],
  ["gRPC-Web", "application/grpc-web+proto", (bytes: Uint8Array) => envelope(bytes)],
] as const)("protobuf by %s", (_name, contentType, wrap) => {
  const nested = bytesOf({ child: { children: [{}] }, int32List: [1, 2, 3, 4, 5, 6, 7, 8] });

  test.each<[what: string, bytes: Uint8Array, values: number]>([
    ["fields inside of fields, and a packed list", nested, 3 * own + 5],
    ["unknown fields", Buffer.alloc(60, Buffer.of(0x98, 0x3f, 0x01)), own + 60],
    ["what is in an unknown group", Buffer.of(0x9b, 0x3f, 0x08, 1, 0x08, 1, 0x9c, 0x3f), own + 9],
  ])("is read by the number of %s", async (_what, bytes, values) => {
    const headers = { "content-type": contentType };
    const request = { path: `/${FieldService.typeName}/Echo`, headers, body: wrap(bytes) };
    expect((await send(request, values)).received).toHaveLength(1);
    const refused = await send(request, values - 1);
    expect(refused.received).toEqual([]);
    const answer = `${refused.response.body} ${refused.response.headers.get("grpc-message")}`;
    expect(answer).toContain(`more than ${values - 1} values`);
  });
});

describe("by default", () => {
  const echo = (body: string | Buffer) =>
    send({
      path: `/${FieldService.typeName}/Echo`,
      headers: { "content-type": `application/${typeof body === "string" ? "json" : "proto"}` },
      body,
    });
  const many = 100_000;
  const text = `{"@type":"/google.protobuf.StringValue","value":"${"a".repeat(2 * many)}"}`;
  const nestedAny = `${'{"@type":"/google.protobuf.Any","value":'.repeat(99)}${text}${"}".repeat(99)}`;
  const struct = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`member${i}`, i]));
  const again = Buffer.alloc(9000, Buffer.of(0xf2, 3, 0));
  test.each<[what: string, body: string | Buffer]>([
    ["empty messages", `{"children":[{}${",{}".repeat(many)}]}`],
    ["timestamps", `{"timestampList":[${list(many, () => '"2026-01-31T12:00:00Z"')}]}`],
    ["members", `{${list(many, (i) => `"unknown${i}":1`)}}`],
    ["unknown fields", Buffer.alloc(3 * many, Buffer.of(0x98, 0x3f, 1))],
    ["capitals in a FieldMask", `{"fieldMask":"a${"A".repeat(2 * many)}"}`],
    ["bytes of a FieldMask", bytesOf({ fieldMask: { paths: ["_a".repeat(many)] } })],
    ["copies, of what is in an Any in an Any,", `{"any":${nestedAny}}`],
    ["merges of a large Struct", Buffer.concat([bytesOf({ struct }), again])],
  ])("a message of very many %s is refused", async (_what, body) => {
    const { response, received } = await echo(body);
    expect(response.status).toBe(400);
    expect(`${response.body}`).toContain("has more than 262144 values");
    expect(received).toEqual([]);
  });

  const objects = list(4000, (i) => `{"id":${i},"name":"x","ok":true}`);
  test.each([
    ["list of 100,000 numbers", `{"int32List":[${list(many, () => "1")}]}`],
    ["map of 40,000 entries", `{"stringByString":{${list(40_000, (i) => `"${i}":""`)}}}`],
    ["struct of 4,000 objects", `{"struct":{"a":[${objects}]}}`],
  ])("a %s is read", async (_what, json) => {
    const { response } = await echo(json);
    expect(response.status).toBe(200);
    expect(JSON.parse(`${response.body}`)).toEqual(JSON.parse(json));
  });
});
