import {
  create,
  createRegistry,
  equals,
  getExtension,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { answerWith, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { barcode, CardSchema } from "../../../gateway/test/gen/library/v1/card_pb.ts";
import {
  type EveryField,
  EveryFieldSchema,
  FieldService,
} from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { send } from "../../../gateway/test/support/catalog.ts";
import { describeMethods } from "../../../gateway/test/support/described-method.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import { envelope, parseEnvelopes } from "../../../gateway/test/support/envelope.ts";
import { jsonOf } from "../../../gateway/test/support/gateway.ts";
import { openProtocols } from "../../../gateway/test/support/open-client.ts";
import { readDescriptors } from "../../src/services/index.ts";
import { openProxy, openProxyOf } from "./open-proxy.ts";

const openEcho = (options = {}, echo = createEchoService()) =>
  openProxyOf((router) => router.service(FieldService, echo), options);

/** Of a newer version of the proto. */
const unknown = [{ no: 9999, wireType: 2, data: new Uint8Array([2, 0, 255]) }];

const large = "ä".repeat(50_000);

describe.each([
  ["a message", "a"],
  ["a large one", large],
])("%s has fields and an Any that nobody knows", (_what, string) => {
  test.each(openProtocols)("over $name", async ({ open, version }) => {
    await using proxy = await openEcho();
    using caller = open(FieldService, proxy.origin(version));
    const any = { typeUrl: "type.googleapis.com/shop.v1.Cart", value: new Uint8Array([8, 1]) };
    const message = create(EveryFieldSchema, { string, any });
    message.$unknown = unknown;
    const same = { unknown: true, registry: createRegistry() };
    const isSame = (answer: EveryField) => equals(EveryFieldSchema, answer, message, same);
    const { client } = caller;
    expect(await client.echo(message)).toSatisfy(isSame);
    for await (const answer of client.repeat(message)) expect(answer).toSatisfy(isSame);
    expect(await client.collect(createAsyncIterable([message]))).toSatisfy(isSame);
  });
});

test("over REST, a message is JSON, as is an Any of a type that the descriptors have", async () => {
  await using proxy = await openEcho();
  const any = { "@type": "type.googleapis.com/library.v1.Volume", id: "9007199254740993" };
  const message = { string: large, int64: "9007199254740993", optionalString: "", any };
  expect(jsonOf(await proxy.send(send("POST", "/v1/fields", message)))).toEqual(message);
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
  const { echo } = createClient(method.parent, createGrpcTransport({ baseUrl: proxy.origin("2") }));
  const answer = await (echo as unknown as (card: object) => Promise<typeof message>)(message);
  expect(answer.number).toBe(1n);
  expect(getExtension(create(CardSchema, answer), barcode)).toBe(2n ** 53n + 1n);
});

describe("a message", () => {
  const headers = { "content-type": "application/grpc", te: "trailers" };

  /** An upstream that answers with the bytes that it gets, and a proxy in front of it. */
  async function openMirror(bytes?: Uint8Array) {
    const fake = await openFakeServer(async (stream, request) => {
      const body = bytes === undefined ? Buffer.concat(await stream.toArray()) : envelope(bytes);
      answerWith({ "grpc-status": "0" }, { body })(stream, request);
    });
    const proxy = await openProxy({ url: fake.url, mayFail: true });
    return {
      ...proxy,
      call: (method: string, body: Uint8Array) =>
        proxy.send({ version: "2", path: `/${FieldService.typeName}/${method}`, headers, body }),
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await fake[Symbol.asyncDispose]();
      },
    };
  }

  /** Fields in another order than ours, one of them twice, the second one not in its shortest form. */
  const odd = Buffer.concat([
    Buffer.from([...tagOf("bytes", 2), 1, 7]),
    toBinary(EveryFieldSchema, create(EveryFieldSchema, { string: "a" })),
    toBinary(EveryFieldSchema, create(EveryFieldSchema, { string: large })),
    Buffer.from([...tagOf("int32"), 0x81, 0x00]),
  ]);

  test.each(["Echo", "Collect", "Repeat", "Exchange"])("of %s keeps its bytes", async (method) => {
    await using mirror = await openMirror();
    const { body, trailers } = await mirror.call(method, envelope(odd));
    expect(trailers.get("grpc-status")).toBe("0");
    expect(parseEnvelopes(body)).toEqual([{ flags: 0, message: odd }]);
  });

  test("is sent on as interceptors change it", async () => {
    const change: Interceptor = (next) => async (request) => {
      if (request.stream) return await next(request);
      Object.assign(request.message, { int32: 1 });
      const response = await next(request);
      if (!response.stream) Object.assign(response.message, { int64: 2n });
      return response;
    };
    const echo = createEchoService();
    await using proxy = await openEcho({ interceptors: [change] }, echo);
    const transport = createGrpcTransport({ baseUrl: proxy.origin("2"), readMaxBytes: 1e6 });
    const answer = await createClient(FieldService, transport).echo({ string: large });
    expect(echo.received).toEqual([expect.objectContaining({ string: large, int32: 1 })]);
    expect(answer).toMatchObject({ string: large, int32: 1, int64: 2n });
  });

  test("has no unknown fields where they are not read", async () => {
    const echo = createEchoService();
    await using proxy = await openEcho({ binaryOptions: { readUnknownFields: false } }, echo);
    const transport = createGrpcTransport({ baseUrl: proxy.origin("2"), readMaxBytes: 1e6 });
    const message = create(EveryFieldSchema, { string: large });
    message.$unknown = unknown;
    await createClient(FieldService, transport).echo(message);
    expect(echo.received[0]?.$unknown).toBeUndefined();
  });

  test.each([
    ["a field of another type", [...tagOf("string"), 1]],
    ["a message for a number", [...tagOf("int32", 2), 2, ...tagOf("int64"), 5]],
    ["a message past its end", [...tagOf("child", 2), 1, ...tagOf("int32"), 5]],
    ["text that is not UTF-8", [...tagOf("optionalString", 2), 1, 0xff]],
    ["a number of 13 bytes", [...tagOf("int32"), ...Array(12).fill(0x80), 1]],
  ])("with %s is passed on too, except as JSON", async (_what, bytes) => {
    for (const wrong of [Buffer.from(bytes), Buffer.concat([odd, Buffer.from(bytes)])]) {
      await using mirror = await openMirror();
      const passed = await mirror.call("Echo", envelope(wrong));
      expect(parseEnvelopes(passed.body)).toEqual([{ flags: 0, message: wrong }]);
      await using broken = await openMirror(wrong);
      expect((await broken.send(send("POST", "/v1/fields", { string: "a" }))).status).toBe(500);
    }
  });
});

/** The tag of a field. @param wireType Default: of a varint. */
function tagOf(name: keyof typeof EveryFieldSchema.field, wireType = 0): number[] {
  const tag = (EveryFieldSchema.field[name].number << 3) | wireType;
  return tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7];
}
