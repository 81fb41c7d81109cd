/** Fields that proto2 requires: a request without them is refused on every protocol, by name. */
import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { StatusSchema } from "../../../gateway/gen/google/rpc/status_pb.ts";
import {
  file_openapi_old_v1_old,
  OldService,
} from "../../../gateway/test/gen/openapi/old/v1/old_pb.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { envelope } from "../../../gateway/test/support/envelope.ts";
import { openGateway, type SentRequest } from "../../../gateway/test/support/gateway.ts";
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

const rows: readonly [what: string, request: SentRequest, said: string][] = [
  ["a body of REST", { path: "/v1/old", headers: json, body: "{}" }, "id is required"],
  ["no body of REST", { path: "/v1/old" }, "id is required"],
  ["a path of REST", { method: "GET", path: "/v1/old/1" }, "otherId is required"],
  [
    "messages within",
    { path: "/v1/old", headers: json, body: JSON.stringify(inner) },
    "partName is required; otherId is required; id is required",
  ],
  [
    "a stream of REST",
    { path: "/v1/old:all", headers: typed("application/x-ndjson"), body: '{"id":1}\n{}\n' },
    "id is required",
  ],
  ["Connect, JSON", { path: `${rpc}/Put`, headers: json, body: "{}" }, "id is required"],
  [
    "Connect, binary",
    { path: `${rpc}/Put`, headers: typed("application/proto") },
    "id is required",
  ],
  [
    "a stream of Connect",
    { path: `${rpc}/PutAll`, headers: typed("application/connect+json"), body: envelope("{}") },
    "id is required",
  ],
  [
    "gRPC",
    {
      ...{ version: "2", path: `${rpc}/Put`, body: envelope("") },
      headers: { ...typed("application/grpc"), te: "trailers" },
    },
    "id is required",
  ],
  [
    "a stream of gRPC",
    {
      ...{ version: "2", path: `${rpc}/PutAll`, body: envelope("") },
      headers: { ...typed("application/grpc"), te: "trailers" },
    },
    "id is required",
  ],
  [
    "gRPC-Web",
    { path: `${rpc}/Put`, headers: typed("application/grpc-web"), body: envelope("") },
    "id is required",
  ],
];

describe.each([
  ["in process", () => openGateway({ routes: (router) => router.service(OldService, old) })],
  [
    "through a proxy",
    () => {
      const { services, registry } = readDescriptors(descriptorSetOf(file_openapi_old_v1_old));
      return openProxyOf((router) => router.service(OldService, old), {
        proxy: { services },
        jsonOptions: { registry },
      });
    },
  ],
] as const)("%s", (_where, open) => {
  test.each(rows)("%s", async (_what, request, said) => {
    received.length = 0;
    await using gateway = await open();
    const response = await gateway.send(request);
    const status = response.trailers.get("grpc-status-details-bin");
    const text =
      status === null
        ? response.body.toString()
        : fromBinary(StatusSchema, Buffer.from(status, "base64")).message;
    expect(text.replaceAll("%20", " ")).toContain(said);
    const isRest = request.path.startsWith("/v1/");
    if (isRest) expect(response.status).toBe(400);
    expect(received.filter((one) => !(one as { id?: bigint }).id)).toEqual([]);
  });
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
