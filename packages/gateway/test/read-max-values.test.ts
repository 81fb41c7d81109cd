/** The maximum number of values in a message: short bodies that would take long to read. */
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonTextError, parseJsonText } from "../src/codec/json-text.ts";
import { EveryFieldSchema, FieldService } from "./gen/library/v1/fields_pb.ts";
import { createEchoService } from "./support/echo.ts";
import { envelope } from "./support/envelope.ts";
import { openGateway, type SentRequest } from "./support/gateway.ts";
import { jsonWays } from "./support/json-ways.ts";

async function send(request: SentRequest, readMaxValues?: number) {
  const service = createEchoService();
  await using gateway = await openGateway({
    routes: (router) => {
      router.service(FieldService, service);
    },
    ...(readMaxValues !== undefined && { readMaxValues }),
  });
  return { response: await gateway.send(request), received: service.received };
}

describe("a JSON text", () => {
  const rows: [text: string, values: number][] = [
    ["1", 1],
    ['"a, [b], {c}, \\"d, e"', 1],
    ["[1, 2, 3]", 4],
    ['{"a": 1, "b": [2, {"c": null}]}', 6],
    ["[[[[1]]]]", 5],
    ["[[],{},[{}]]", 5],
    ["[true, false, null]", 4],
    ['{"a": true, "b": false}', 3],
  ];
  test.each(rows)("%s is read if that many are allowed, and otherwise rejected", (text, values) => {
    const bytes = Buffer.from(text);
    expect(parseJsonText(bytes, values)).toEqual(JSON.parse(text));
    expect(() => parseJsonText(bytes, values - 1)).toThrow(
      new JsonTextError(`has more than ${values - 1} values`),
    );
  });

  test("has as many values as JSON.stringify has to write", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        let values = 0;
        JSON.parse(text, (_key, value) => {
          values++;
          return value;
        });
        const bytes = Buffer.from(text);
        expect(() => parseJsonText(bytes, values)).not.toThrow();
        expect(() => parseJsonText(bytes, values - 1)).toThrow(JsonTextError);
      }),
    );
  });
});

describe("text that is not JSON", () => {
  test.each(["1 ", "1,", ", ", "1:", '"" ', "1a", "]", "\\"])(
    "of repeated %j is rejected before its values are counted",
    (text) => {
      expect(() => parseJsonText(Buffer.from(text.repeat(100)), 50)).toThrow(
        /^is not valid JSON: /,
      );
    },
  );
});

describe.each(jsonWays)("JSON by $name", (way) => {
  const list = way.request('{"int32List": [1, 2, 3]}');

  test("is read with the maximum number of values", async () => {
    const { response, received } = await send(list, 5);
    expect(way.codeOf(response)).toBeUndefined();
    expect(received).toMatchObject([{ int32List: [1, 2, 3] }]);
  });

  test("is rejected with one more", async () => {
    const { response, received } = await send(list, 4);
    expect(way.codeOf(response)).toBe(Code.InvalidArgument);
    expect(received).toEqual([]);
  });
});

describe("protobuf", () => {
  const nested = toBinary(
    EveryFieldSchema,
    create(EveryFieldSchema, { child: { children: [{}] }, int32List: [1, 2, 3, 4, 5, 6, 7, 8] }),
  );
  const rows: [what: string, bytes: Uint8Array, fields: number][] = [
    ["fields inside of fields, and a packed list", nested, 3],
    ["unknown fields", Buffer.alloc(60, Buffer.of(0x98, 0x3f, 0x01)), 20],
    ["what is in an unknown group", Buffer.of(0x9b, 0x3f, 0x08, 1, 0x08, 1, 0x9c, 0x3f), 3],
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

    test.each(rows)("is read by the number of %s", async (_what, bytes, fields) => {
      const whole = await send(request(bytes), fields);
      expect(whole.received).toHaveLength(1);
      const refused = await send(request(bytes), fields - 1);
      expect(refused.received).toEqual([]);
      const { body, headers } = refused.response;
      const answer = `${body} ${headers.get("grpc-message")}`.replaceAll("%20", " ");
      expect(answer).toContain(`more than ${fields - 1} fields`);
    });

    test("may have any number of fields by default", async () => {
      const { received } = await send(request(Buffer.alloc(60_000, Buffer.of(0x98, 0x3f, 0x01))));
      expect(received).toHaveLength(1);
    });
  });
});
