/** A body that was read before it reached the gateway: nothing is left to serve. */
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { gatewayNodeAdapter, type NodeHandler } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import {
  CatalogService,
  CreateVolumeRequestSchema,
  ListVolumesRequestSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { get, send, versions } from "../support/catalog.ts";
import { envelope } from "../support/envelope.ts";
import { openHandler, type SentRequest } from "../support/gateway.ts";

/** A catalog behind something that consumes every body, like a body parser. */
function openBehindParser() {
  const errors: unknown[] = [];
  const handler = gatewayNodeAdapter({
    routes: (router) => router.service(CatalogService, createCatalog()),
    onError: (error) => errors.push(error),
  });
  const parse: NodeHandler = (request, response) => {
    request.on("data", () => {});
    request.on("end", () => handler(request, response));
  };
  return openHandler(parse, { errors, mayFail: true });
}

function post(path: string, contentType: string, body: string | Uint8Array = "{}"): SentRequest {
  return { method: "POST", path, headers: { "content-type": contentType }, body };
}

const create1 = "/library.v1.CatalogService/CreateVolume";
const watch1 = "/library.v1.CatalogService/WatchVolumes";
const parent = "shelves/a";
const importPath = "/v1/shelves/a/volumes:import";
const ndjson = "application/x-ndjson";
const newVolume = create(CreateVolumeRequestSchema, { parent, volume: { id: 1n } });
const unaryProto = envelope(toBinary(CreateVolumeRequestSchema, newVolume));
const list = create(ListVolumesRequestSchema, { parent });
const streamProto = envelope(toBinary(ListVolumesRequestSchema, list));

const restError = '{"code":13,"message":"internal error","details":[]}';
const connectError = '{"code":"internal","message":"internal error"}';
const grpcError = ["grpc-status: 13", /grpc-message: internal error/];
const web = "application/grpc-web+proto";

describe.each(versions)("over HTTP/%s, a consumed body is an internal error", (version) => {
  const rows: readonly [
    what: string,
    request: SentRequest,
    status: number,
    told: readonly (string | RegExp)[],
  ][] = [
    ["REST", post("/v1/shelves/a/volumes", "application/json"), 500, [restError]],
    [
      "REST, a google.api.HttpBody",
      { ...post("/v1/shelves/a/volumes/1:upload", "text/plain", "a"), method: "PUT" },
      500,
      [restError],
    ],
    ["a stream of REST", post(importPath, ndjson), 500, [restError]],
    ["Connect", post(create1, "application/json"), 500, [connectError]],
    [
      "Connect, a stream",
      post(watch1, "application/connect+json", envelope("{}")),
      200,
      [`{"error":${connectError}}`],
    ],
    ["gRPC-Web", post(create1, web, unaryProto), 200, grpcError],
    ["gRPC-Web, a stream", post(watch1, web, streamProto), 200, grpcError],
    ["gRPC", post(create1, "application/grpc", unaryProto), 200, grpcError],
  ];

  test.each(rows)("%s", async (_what, request, status, told) => {
    await using gateway = await openBehindParser();
    const response = await gateway.send({ version, ...request });
    expect(response.status).toBe(status);
    const fields = [...response.headers].map((field) => field.join(": "));
    const text = [response.body.toString(), ...fields].join("\r\n");
    for (const part of told) expect(text).toMatch(part);
    expect(gateway.errors).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^the request body was read before the gateway: mount it /),
      }),
    ]);
  });

  const harmless: readonly [what: string, request: SentRequest][] = [
    ["a GET", get("/v1/shelves/a/volumes")],
    ["a stream that is asked for by a GET", get("/v1/shelves/a/volumes:watch")],
    ["an empty body", post(importPath, ndjson, "")],
  ];

  test.each(harmless)("but not that of %s, where there was nothing to read", async (_what, one) => {
    await using gateway = await openBehindParser();
    expect(await gateway.send({ version, ...one })).toMatchObject({ status: 200 });
    expect(gateway.errors).toEqual([]);
  });

  test("nor a body that the call does not use", async () => {
    await using gateway = await openBehindParser();
    const response = await gateway.send({ version, ...send("POST", "/v1/nothing", {}) });
    expect(response.status).toBe(404);
    expect(gateway.errors).toEqual([]);
  });
});
