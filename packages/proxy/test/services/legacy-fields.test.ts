/** What proto2 has: required fields, and text that is read without a look at its encoding. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { expect, test } from "vitest";
import { StatusSchema } from "../../../gateway/gen/google/rpc/status_pb.ts";
import {
  FieldService,
  file_library_v1_fields,
} from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import {
  file_openapi_old_v1_old,
  OldSchema,
  OldService,
} from "../../../gateway/test/gen/openapi/old/v1/old_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { envelope } from "../../../gateway/test/support/envelope.ts";
import { openGateway, type SentRequest } from "../../../gateway/test/support/gateway.ts";
import { openProtocols } from "../../../gateway/test/support/open-client.ts";
import { readDescriptors } from "../../src/services/index.ts";
import { openProxyOf } from "./open-proxy.ts";

const received: unknown[] = [];
const old = {
  get: (request: unknown) => keep(request),
  put: (request: unknown) => keep(request),
  putAll: async (requests: AsyncIterable<unknown>) => {
    for await (const request of requests) keep(request);
    return { id: 1n };
  },
};

function keep(request: unknown) {
  received.push(request);
  return { id: 1n };
}

const rpc = "/openapi.old.v1.OldService";
const json = { "content-type": "application/json" };
const typed = (type: string) => ({ "content-type": type });
const inner = { id: 1, inner: {}, part: [{}], requests: { a: { id: "2" } } };

const call = (method: string, type: string, body: SentRequest["body"] = ""): SentRequest => {
  const isGrpc = type === "grpc";
  const headers = { ...typed(`application/${type}`), ...(isGrpc && { te: "trailers" }) };
  return { version: isGrpc ? "2" : "1.1", path: `${rpc}/${method}`, headers, body };
};
const lines = '{"id":1}\n{}\n';

const rows: readonly [what: string, request: SentRequest, said?: string][] = [
  ["a body of REST", { path: "/v1/old", headers: json, body: "{}" }],
  ["no body of REST", { path: "/v1/old" }],
  ["a path of REST", { method: "GET", path: "/v1/old/1" }, "otherId is required"],
  [
    "messages within",
    { path: "/v1/old", headers: json, body: JSON.stringify(inner) },
    "partName is required; otherId is required; id is required",
  ],
  [
    "a stream of REST",
    { path: "/v1/old:all", headers: typed("application/x-ndjson"), body: lines },
  ],
  ["Connect, JSON", call("Put", "json", "{}")],
  ["Connect, binary", call("Put", "proto")],
  ["a stream of Connect", call("PutAll", "connect+json", envelope("{}"))],
  ["gRPC", call("Put", "grpc", envelope(""))],
  ["a stream of gRPC", call("PutAll", "grpc", envelope(""))],
  ["gRPC-Web", call("Put", "grpc-web", envelope(""))],
];

function openProxy(service: Partial<ServiceImpl<typeof OldService>> = old) {
  const { services, registry } = readDescriptors(descriptorSetOf(file_openapi_old_v1_old));
  return openProxyOf((router) => router.service(OldService, service), {
    ...{ proxy: { services }, jsonOptions: { registry }, mayFail: true },
  });
}

test.each(rows)("that a required field is missing is told: %s", async (...row) => {
  const [_what, request, said = "id is required"] = row;
  received.length = 0;
  await using gateway = await openProxy();
  const response = await gateway.send(request);
  const status = response.headers.get("grpc-status-details-bin");
  const text =
    status === null
      ? response.body.toString()
      : fromBinary(StatusSchema, Buffer.from(status, "base64")).message;
  expect(text.replaceAll("%20", " ")).toContain(said);
  if (request.path.startsWith("/v1/")) expect(response.status).toBe(400);
  expect(received.filter((one) => !(one as { id?: bigint }).id)).toEqual([]);
});

/** Its group is written as it is: a text of one byte of Latin-1. */
const latin1 = create(OldSchema, { id: 1n });
latin1.$unknown = [{ no: 2, wireType: 3, data: Buffer.from("0a01e914", "hex") }];

test.each(openProtocols)(
  "text that is not UTF-8 is refused by $name, not replaced",
  async ({ open: call, version }) => {
    received.length = 0;
    await using gateway = await openProxy();
    using caller = call(OldService, gateway.origin(version));
    const { client } = caller;
    const refusal = { code: Code.InvalidArgument };
    await expect(client.put(latin1)).rejects.toMatchObject(refusal);
    await expect(client.putAll(createAsyncIterable([latin1]))).rejects.toMatchObject(refusal);
    expect(received).toEqual([]);
  },
);

test("text of an upstream that is not UTF-8 is an internal error in JSON, not replaced", async () => {
  await using proxy = await openProxy({ put: () => latin1, putAll: async () => latin1 });
  expect((await proxy.send({ path: "/v1/old", headers: json, body: '{"id":1}' })).status).toBe(500);
  const path = `/${OldService.typeName}/Put`;
  expect((await proxy.send({ path, headers: json, body: '{"id":1}' })).status).toBe(500);
});

test("text of an upstream that is not UTF-8 is not replaced in an Any", async () => {
  const set = descriptorSetOf(file_openapi_old_v1_old, file_library_v1_fields);
  const { registry } = readDescriptors(set);
  await using proxy = await openProxyOf(
    (router) => router.service(FieldService, { echo: () => ({ any: anyPack(OldSchema, latin1) }) }),
    { jsonOptions: { registry }, mayFail: true },
  );
  const { status } = await proxy.send({ path: "/v1/fields", headers: json, body: "{}" });
  expect(status).toBe(500);
});

test("path and body may name the same field of a message with required fields", async () => {
  const selector = "openapi.old.v1.OldService.Put";
  await using gateway = await openGateway({
    routes: (router) => router.service(OldService, old),
    rest: { rules: [{ selector, pattern: { case: "put", value: "/v1/old/{id}" }, body: "*" }] },
  });
  const put = (body: string) =>
    gateway.send({ method: "PUT", path: "/v1/old/1", headers: json, body });
  expect((await put('{"id":"1"}')).status).toBe(200);
  expect((await put('{"id":"2"}')).status).toBe(400);
});
