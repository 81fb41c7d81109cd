import { constants } from "node:http2";
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { BadRequestSchema } from "connect-gateway/protos";
import { describe, expect, test } from "vitest";
import { answerWith, grpcHead, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { VolumeSchema } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema, FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { LabelSchema } from "../../../gateway/test/gen/library/v1/label_pb.ts";
import { send } from "../../../gateway/test/support/catalog.ts";
import { codeStatuses } from "../../../gateway/test/support/code-statuses.ts";
import { collect } from "../../../gateway/test/support/collect.ts";
import { jsonOf, type TestGatewayOptions } from "../../../gateway/test/support/gateway.ts";
import { grpcProtocol, openProtocols } from "../../../gateway/test/support/open-client.ts";
import { failureOf, openProxy, openProxyOf, type TestProxy } from "./open-proxy.ts";

const request = send("POST", "/v1/fields", {});

function openFailing(error: ConnectError, options: Partial<TestGatewayOptions> = {}) {
  const routes = (router: ConnectRouter) =>
    void router.service(FieldService, {
      echo(_, { responseHeader }) {
        responseHeader.set("x-region", "eu");
        throw error;
      },
    });
  return openProxyOf(routes, options);
}

async function errorOf(proxy: TestProxy, { open, version }: (typeof openProtocols)[number]) {
  using caller = open(FieldService, proxy.origin(version));
  return await failureOf(caller.client.echo({}));
}

test.each(codeStatuses)("code %i is %i over REST, and itself over RPC", async (code, status) => {
  await using proxy = await openFailing(new ConnectError("it is so: ü", code));
  const answer = await proxy.send(request);
  expect(answer.status).toBe(status);
  expect(jsonOf(answer)).toEqual({ code, message: "it is so: ü", details: [] });
  expect(answer.headers.get("retry-after")).toBe(code === Code.Unavailable ? "1" : null);
  for (const protocol of openProtocols) {
    expect(await errorOf(proxy, protocol)).toMatchObject({ code, rawMessage: "it is so: ü" });
  }
});

describe("its details", () => {
  const violation = { field: "id", description: "must not be so" };
  const label = create(LabelSchema, { id: 1n });
  const pack = (desc: DescMessage) => ({ any: anyPack(desc, create(desc, { id: 1n })) });
  const error = new ConnectError("it is so", Code.InvalidArgument, undefined, [
    { desc: BadRequestSchema, value: { fieldViolations: [violation] } },
    { desc: VolumeSchema, value: { id: 2n ** 53n + 1n } },
    { desc: LabelSchema, value: label }, // of a file that the proxy does not have
    { desc: EveryFieldSchema, value: pack(VolumeSchema) },
    { desc: EveryFieldSchema, value: pack(LabelSchema) },
  ]);

  test("are JSON over REST, of types that the descriptors have or everybody has", async () => {
    const every = "type.googleapis.com/library.v1.EveryField";
    await using proxy = await openFailing(error);
    expect(jsonOf(await proxy.send(request))).toMatchObject({
      details: [
        { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [violation] },
        { "@type": "type.googleapis.com/library.v1.Volume", id: "9007199254740993" },
        {
          "@type": "type.googleapis.com/library.v1.Label",
          value: base64Encode(toBinary(LabelSchema, label)),
        },
        { "@type": every, any: { "@type": "type.googleapis.com/library.v1.Volume", id: "1" } },
        { "@type": every, value: expect.any(String) },
      ],
    });
  });

  test.each(openProtocols)("are whole over $name", async (protocol) => {
    await using proxy = await openFailing(error);
    const { details } = await errorOf(proxy, protocol);
    expect(details).toMatchObject(
      [BadRequestSchema, VolumeSchema, LabelSchema, EveryFieldSchema, EveryFieldSchema].map(
        ({ typeName }) => ({ type: typeName }),
      ),
    );
    const got = new ConnectError("", Code.Unknown);
    got.details = details;
    expect(got.findDetails(VolumeSchema)).toMatchObject([{ id: 2n ** 53n + 1n }]);
    expect(got.findDetails(LabelSchema)).toMatchObject([{ id: 1n }]);
  });
});

test("an error that is none of the upstream's stays as it is, for others", async () => {
  const error = new ConnectError("over", Code.Aborted, { "x-a": "b" });
  const call = () => Promise.reject(error);
  const proxied = { transport: { unary: call, stream: call } };
  await using proxy = await openProxy({ url: "http://a", proxy: proxied });
  const { status, headers } = await proxy.send(request);
  expect([status, headers.get("x-a"), error.metadata.get("x-a")]).toEqual([409, null, "b"]);
});

test.each(["//79", "!"])("gRPC callers get %s, which is no Status, if in base64", async (sent) => {
  const got = sent === "!" ? null : sent; // they would lose the code
  const status = { "grpc-status": `${Code.Aborted}`, "grpc-status-details-bin": sent };
  await using fake = await openFakeServer(answerWith(status));
  await using proxy = await openProxy({ url: fake.url });
  await using caller = await openProxy({ url: proxy.origin("2") });
  const { echo, repeat } = createClient(FieldService, caller.transport);
  for (const call of [echo({}), collect(repeat({}))]) {
    const { code, metadata } = await failureOf(call);
    expect([code, metadata.get("grpc-status-details-bin")]).toEqual([Code.Aborted, got]);
  }
  const { headers } = await proxy.send(request);
  expect([...headers.keys()].join()).not.toMatch("grpc-status-details-bin");
});

test.each([0, 2])("%i messages to a client that streams are an error", async (count) => {
  const body = Buffer.alloc(5 * count);
  await using fake = await openFakeServer(answerWith({ "grpc-status": "0" }, { body }));
  await using proxy = await openProxy({ url: fake.url });
  using caller = grpcProtocol.open(FieldService, proxy.origin("2"));
  const call = caller.client.collect(createAsyncIterable([{}]));
  expect(await failureOf(call)).toMatchObject({ code: Code.Unimplemented });
});

test.each(openProtocols)("a stream's large request is no response by $name", async (protocol) => {
  await using fake = await openFakeServer(() => {});
  await using proxy = await openProxy({ url: fake.url, readMaxBytes: 9 });
  using caller = protocol.open(FieldService, proxy.origin(protocol.version));
  const call = caller.client.collect(createAsyncIterable([{}, { string: "0123456789" }]));
  const rawMessage = "a message must not be larger than 9 bytes";
  expect(await failureOf(call)).toMatchObject({ code: Code.ResourceExhausted, rawMessage });
});

test("a reset that asks for calm is a refusal, and no response that is too large", async () => {
  const calm = constants.NGHTTP2_ENHANCE_YOUR_CALM;
  await using fake = await openFakeServer((stream) => stream.close(calm));
  await using proxy = await openProxy({ url: fake.url });
  expect((await proxy.send(request)).status).toBe(429);
});

test("headers and metadata of an error are passed on", async () => {
  const metadata = { "www-authenticate": "Bearer", "x-id-bin": "AP8B" };
  const endings: unknown[] = [];
  const observer = { begin: () => ({ end: (ending: unknown) => endings.push(ending) }) };
  const error = new ConnectError("who?", Code.Unauthenticated, metadata);
  await using proxy = await openFailing(error, { observer });
  const { headers } = await proxy.send(request);
  expect(endings).toMatchObject([{ error: { cause: { isWireError: true } }, status: 401 }]);
  expect(headers.get("www-authenticate")).toBe("Bearer");
  expect(headers.get("x-region")).toBe("eu");
  for (const protocol of openProtocols) {
    const error = await errorOf(proxy, protocol);
    expect(error.metadata.get("www-authenticate")).toBe("Bearer");
    expect(error.metadata.get("x-id-bin")).toBe("AP8B");
    expect(error.metadata.get("x-region")).toBe("eu");
  }
});

test.each(openProtocols)("headers of a stream that fails come once by $name", async (protocol) => {
  const head = { ...grpcHead, "x-region": "eu" };
  const trailers = { "grpc-status": `${Code.Aborted}`, "x-cost": "3" };
  await using fake = await openFakeServer(answerWith(trailers, { head, body: Buffer.alloc(0) }));
  await using proxy = await openProxy({ url: fake.url });
  using caller = protocol.open(FieldService, proxy.origin(protocol.version));
  const { client } = caller;
  const messages = () => createAsyncIterable([{}]);
  let region: string | null = null;
  const options = { onHeader: (header: Headers) => (region = header.get("x-region")) };
  const calls = [
    () => client.collect(messages(), options),
    () => collect(client.repeat({}, options)),
    () => collect(client.exchange(messages(), options)),
  ].slice(0, protocol.version === "2" ? 3 : 2);
  for (const call of calls) {
    region = null;
    const { code, metadata } = await failureOf(call());
    const seen = [code, region ?? metadata.get("x-region"), metadata.get("x-cost")];
    expect(seen).toEqual([Code.Aborted, "eu", "3"]);
  }
});
