/** What a collector gets of each call: by the conventions, and nothing of what was sent. */
import { expect, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import {
  exchange,
  type HttpRequest,
} from "../../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import {
  environmentFor,
  stubEnvironment,
} from "../../../packages/proxy/test/support/tracing/environment.ts";
import {
  type OtlpCollector,
  openOtlpCollector,
} from "../../../packages/proxy/test/support/tracing/otlp-collector.ts";
import { lockStore } from "../../support/locked-store.ts";
import { newPlantJson } from "../../support/protocol/message.ts";
import { protocols } from "../../support/protocol/protocols.ts";
import { knownToken, openTestServer, type TestServerOptions } from "../../support/test-server.ts";

const authorization = `Bearer ${knownToken}`;
const json = { authorization, "content-type": "application/json" };
const basil = newPlantJson({ id: 1n, name: "Basil" });
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parentSpanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${parentSpanId}-01`;

async function openTraced(
  collector: OtlpCollector,
  options: TestServerOptions = {},
  env: Readonly<Record<string, string>> = {},
) {
  using _ = stubEnvironment({ ...environmentFor(collector.url), ...env });
  return await openTestServer(options);
}

/** The convention that a protocol of the tests has its spans by. */
function systemOf(protocolName: string): "http" | "grpc" | "connectrpc" {
  if (protocolName.includes("REST")) return "http";
  return protocolName.includes("gRPC") ? "grpc" : "connectrpc";
}

const rest = { "http.request.method": "POST", "http.route": "/plants" };
const rpc = { "rpc.method": "plantstore.v1.PlantService/CreatePlant" };
const grpc = { "rpc.system.name": "grpc", ...rpc };
const connect = { "rpc.system.name": "connectrpc", ...rpc };

/** What the spans of a success, a taken id, no name, and a wrong token say. */
const expected = {
  http: {
    name: "POST /plants",
    attributes: [200, 400, 400, 401].map((status) => ({
      ...rest,
      "http.response.status_code": status,
    })),
  },
  grpc: {
    name: "plantstore.v1.PlantService/CreatePlant",
    attributes: ["OK", "ALREADY_EXISTS", "INVALID_ARGUMENT", "UNAUTHENTICATED"].map((code) => ({
      ...grpc,
      "rpc.status_code": code,
    })),
  },
  connectrpc: {
    name: "plantstore.v1.PlantService/CreatePlant",
    attributes: [undefined, "already_exists", "invalid_argument", "unauthenticated"].map(
      (code) => ({ ...connect, ...(code !== undefined && { "rpc.status_code": code }) }),
    ),
  },
};

test.each(protocols)("$name: a span for a success, and for each refusal", async (protocol) => {
  await using collector = await openOtlpCollector();
  await using server = await openTraced(collector);
  using caller = protocol.open(server.url);
  await caller.create({ id: 1n, name: "Basil" });
  await caller.create({ id: 1n, name: "Mint" });
  await caller.create({ id: 2n });
  await caller.create({ id: 1n, name: "Basil" }, { authorization: "Bearer nobody-knows-this" });
  const spans = await collector.until(4);
  const { name, attributes } = expected[systemOf(protocol.name)];
  const common = { name, kind: 2, parentSpanId: "", statusCode: 0 };
  expect(spans).toMatchObject(attributes.map((own) => ({ ...common, attributes: own })));
  expect(new Set(spans.map((span) => span.traceId)).size).toBe(4);
  for (const { attributes, durationNs } of spans) {
    expect(attributes).toMatchObject({
      "server.port": server.port,
      "network.peer.address": "127.0.0.1",
    });
    expect(attributes["server.address"]).toMatch(/^(127\.0\.0\.1|localhost)$/);
    expect(attributes).not.toHaveProperty("error.type");
    expect(durationNs > 0n).toBe(true);
  }
});

const secret: readonly [name: string, request: Partial<HttpRequest>][] = [
  ["POST /plants", { path: "/plants", body: basil }],
  ["POST /plants", { path: `/plants?access_token=${knownToken}`, body: basil }],
  ["GET", { method: "GET", path: `/plants/1/Basil/${knownToken}` }],
  [
    "grpc.health.v1.Health/Check",
    { path: "/grpc.health.v1.Health/Check", body: '{"service":"Basil"}' },
  ],
];

test.each(secret)("%s: nothing of what was sent is exported (%#)", async (name, request) => {
  await using collector = await openOtlpCollector();
  await using server = await openTraced(collector);
  await exchange({ origin: server.url, version: "1.1", path: "", headers: json, ...request });
  const [span] = await collector.until(1);
  expect(span?.name).toBe(name);
  const [sent] = collector.exports;
  expect(sent?.body.toString("latin1")).not.toMatch(/Basil|access_token|a-token-for/);
});

test("within a call that was let in there is a span of its wait for the store, and in no other", async () => {
  await using collector = await openOtlpCollector();
  await using server = await openTraced(collector);
  const send = (more: object, body = basil) =>
    exchange({
      origin: server.url,
      version: "1.1",
      path: "/plants",
      headers: { ...json, ...more },
      body,
    });
  await send({ traceparent });
  await send({ authorization: "Bearer nobody-knows-this" });
  await send({}, newPlantJson({ id: 2n }));
  await send({}, newPlantJson({ id: 1n, name: "Mint" }));
  const lock = lockStore(server.database);
  await send({ "connect-timeout-ms": "20" }, newPlantJson({ id: 3n, name: "Sage" }));
  lock.release();
  const [created, , , taken, late] = await collector.until(5);
  await server.close();
  const common = { name: "store.create", attributes: {}, kind: 1 };
  expect(collector.inner).toMatchObject([
    { ...common, traceId, parentSpanId: created?.spanId, statusCode: 0 },
    { ...common, parentSpanId: taken?.spanId, statusCode: 0 },
    { ...common, parentSpanId: late?.spanId, statusCode: 2 },
  ]);
});

test("paths below a base path, and the resource that the environment names", async () => {
  await using collector = await openOtlpCollector();
  const env = { OTEL_SERVICE_NAME: "basil-bed", OTEL_RESOURCE_ATTRIBUTES: "region=north" };
  await using server = await openTraced(collector, { basePath: "/api" }, env);
  const request = { version: "1.1", headers: json, body: basil } as const;
  await exchange({ origin: new URL(server.url).origin, path: "/api/plants", ...request });
  const [span] = await collector.until(1);
  expect(span).toMatchObject({
    name: "POST /api/plants",
    resource: {
      "service.name": "basil-bed",
      "service.version": expect.stringMatching(/^\d+\.\d+\.\d+/),
      region: "north",
      "telemetry.sdk.language": "nodejs",
    },
  });
});

test.runIf(hasOpenssl)("over TLS the scheme is https", async () => {
  await using folder = await createTemporaryFolder();
  const { pem: ca, ...tls } = createCertificate(folder.path, "server");
  await using collector = await openOtlpCollector();
  await using server = await openTraced(collector, { tls });
  const request = { version: "2", path: "/plants", headers: json, body: basil } as const;
  await exchange({ origin: server.url, ca, ...request });
  const [span] = await collector.until(1);
  expect(span?.attributes).toMatchObject({ "url.scheme": "https", "server.port": server.port });
});
