/** JSON on its way to an implementation, by each protocol. */
import { toJsonString } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { EveryFieldSchema } from "./gen/library/v1/fields_pb.ts";
import { createEchoService, openFields } from "./support/echo.ts";
import { jsonOf } from "./support/gateway.ts";
import { type JsonWay, jsonWays, restWay, rpcWays } from "./support/json-ways.ts";

async function sendTo(way: JsonWay, json: string | Uint8Array) {
  const service = createEchoService();
  await using gateway = await openFields(service);
  const response = await gateway.send(way.request(json));
  return { response, code: way.codeOf(response), received: service.received };
}

describe.each(jsonWays)("$name:", (way) => {
  test("an integer beyond 2^53 reaches the implementation as written", async () => {
    const { code, received } = await sendTo(
      way,
      '{"int64":9007199254740993,"children":[{"uint64":18446744073709551615}],"int64ByInt64":{"1":-9007199254740993}}',
    );
    expect(code).toBeUndefined();
    expect(received).toMatchObject([
      {
        int64: 9007199254740993n,
        children: [{ uint64: 18446744073709551615n }],
        int64ByInt64: { "1": -9007199254740993n },
      },
    ]);
  });

  test("and is returned unchanged, as floats are", async () => {
    const { response } = await sendTo(way, '{"int64":9007199254740993,"floatList":[0.1,-0]}');
    const text = '{"int64":"9007199254740993","floatList":[0.1,-0]}';
    expect(response.body.toString("latin1")).toContain(text);
  });

  test.each<[what: string, json: string | Uint8Array]>([
    ["no JSON", "{"],
    ["invalid UTF-8", Buffer.from('{"string":"\xff"}', "latin1")],
    ["a member that is named twice", '{"int64":1,"int64":1}'],
    ["an integer in hexadecimal", '{"int64":"0x10"}'],
    ["a lone surrogate", '{"string":"\\ud800"}'],
    // The error quotes what was sent, half a surrogate pair. That must not break the answer.
    ["a map's key that is no text", '{"int64ByInt64":{"\\ud800":1}}'],
    ["an emoji where a value should be", "[🌱]"],
  ])("INVALID_ARGUMENT for %s, and nothing is called", async (_what, json) => {
    const { code, received } = await sendTo(way, json);
    expect(received).toEqual([]);
    expect(code).toBe(Code.InvalidArgument);
  });
});

test.each<[what: string, json: string]>([
  ["no JSON", "{"],
  ["a member that is named twice", '{"int64":1,"int64":1}'],
  ["an integer out of range", '{"children":[{"uint32":-1}]}'],
  ["what protobuf-es refuses", '{"child":{"bytes":"*"}}'],
])("REST and Connect report the same about %s", async (_what, json) => {
  const [connectWay] = rpcWays;
  if (connectWay === undefined) throw new Error("there is no Connect");
  const byRest = jsonOf((await sendTo(restWay, json)).response) as Told;
  const byConnect = jsonOf((await sendTo(connectWay, json)).response) as Told;
  const [violations] = byRest.details ?? [];
  expect(violations).toMatchObject({ fieldViolations: [expect.anything()] });
  expect(byConnect.message).toBe(byRest.message);
  expect(violations).toMatchObject(byConnect.details?.[0]?.debug ?? { none: true });
});

/** The error of REST or Connect. */
interface Told {
  readonly message: string;
  readonly details?: readonly { readonly debug?: object }[];
}

describe("unknown fields", () => {
  const json = '{"isbn":9007199254740993,"child":{"isbn":{"a":[1.0]}},"int64":1}';

  test.each(rpcWays)("$name: are ignored", async (way) => {
    const { code, received } = await sendTo(way, json);
    expect(code).toBeUndefined();
    expect(received.map((message) => toJsonString(EveryFieldSchema, message))).toEqual([
      '{"int64":"1","child":{}}',
    ]);
  });

  test("REST: are rejected", async () => {
    const { code, received } = await sendTo(restWay, json);
    expect(code).toBe(Code.InvalidArgument);
    expect(received).toEqual([]);
  });
});
