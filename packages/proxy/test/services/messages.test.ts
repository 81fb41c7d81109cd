import { create, getExtension, setExtension } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { barcode, CardSchema } from "../../../gateway/test/gen/library/v1/card_pb.ts";
import { EveryFieldSchema, FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { send } from "../../../gateway/test/support/catalog.ts";
import { describeMethods } from "../../../gateway/test/support/described-method.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { jsonOf } from "../../../gateway/test/support/gateway.ts";
import { openProtocols } from "../../../gateway/test/support/open-client.ts";
import { readDescriptors } from "../../src/services/index.ts";
import { openProxyOf } from "./open-proxy.ts";

const openEcho = () => openProxyOf((router) => router.service(FieldService, createEchoService()));

/** Of a newer version of the proto. */
const unknown = [{ no: 9999, wireType: 2, data: new Uint8Array([2, 0, 255]) }];

test.each(openProtocols)("fields that nobody knows are passed on over $name", async (protocol) => {
  await using proxy = await openEcho();
  using caller = protocol.open(FieldService, proxy.origin(protocol.version));
  const message = create(EveryFieldSchema, { string: "a" });
  message.$unknown = unknown;
  expect(await caller.client.echo(message)).toMatchObject({ string: "a", $unknown: unknown });
  for await (const answer of caller.client.repeat(message)) {
    expect(answer).toMatchObject({ string: "a", $unknown: unknown });
  }
  expect(await caller.client.collect(createAsyncIterable([message]))).toMatchObject({
    $unknown: unknown,
  });
});

test.each(openProtocols)(
  "an Any of a type that nobody knows is passed on over $name",
  async ({ open, version }) => {
    await using proxy = await openEcho();
    using caller = open(FieldService, proxy.origin(version));
    const any = { typeUrl: "type.googleapis.com/shop.v1.Cart", value: new Uint8Array([8, 1]) };
    expect(await caller.client.echo({ any })).toMatchObject({ any });
  },
);

test("an Any of a type that the descriptors have is JSON over REST", async () => {
  await using proxy = await openEcho();
  const any = { "@type": "type.googleapis.com/library.v1.Volume", id: "9007199254740993" };
  const answer = await proxy.send(send("POST", "/v1/fields", { any }));
  expect(jsonOf(answer)).toEqual({ any });
});

test("extensions are passed on, by their names over REST", async () => {
  const rule = { pattern: { case: "post" as const, value: "/v1/cards" }, body: "*" };
  const [method] = describeMethods([{ name: "Echo", input: CardSchema, output: CardSchema, rule }]);
  if (method === undefined) throw new Error("no method");
  const { services, registry } = readDescriptors(descriptorSetOf(method.parent.file));
  await using proxy = await openProxyOf(
    (router) => router.rpc(method, ((message: unknown) => message) as never),
    { proxy: { services, registry }, jsonOptions: { registry } },
  );
  const card = { number: "1", "[library.v1.barcode]": "9007199254740993" };
  expect(jsonOf(await proxy.send(send("POST", "/v1/cards", card)))).toEqual(card);

  const message = create(CardSchema, { number: 1n });
  setExtension(message, barcode, 2n ** 53n + 1n);
  const transport = createGrpcTransport({ baseUrl: proxy.origin("2") });
  const { echo } = createClient(method.parent, transport);
  const answer = await (echo as unknown as (card: object) => Promise<typeof message>)(message);
  expect(answer.number).toBe(1n);
  expect(getExtension(create(CardSchema, answer), barcode)).toBe(2n ** 53n + 1n);
});
