/** What a collector gets of each call: by the conventions, and nothing of what was sent. */
import { expect, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import { exchange, type HttpRequest } from "../../../packages/gateway/test/support/exchange.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import {
  environmentFor,
  stubEnvironment,
} from "../../../packages/kit/test/support/tracing/environment.ts";
import {
  type OtlpCollector,
  openOtlpCollector,
} from "../../../packages/kit/test/support/tracing/otlp-collector.ts";
import { lockStore } from "../../support/locked-store.ts";
import { basil, plantHeaders as json, postPlant } from "../../support/plant-request.ts";
import { newPlantJson } from "../../support/protocol/message.ts";
import { knownToken, openTestServer, type TestServerOptions } from "../../support/test-server.ts";

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

test.runIf(hasOpenssl)(
  "the template and the scheme are exported, and nothing of what was sent",
  async () => {
    await using folder = await createTemporaryFolder();
    const { pem: ca, ...tls } = createCertificate(folder.path, "server");
    await using collector = await openOtlpCollector();
    const env = { OTEL_SERVICE_NAME: "basil-bed", OTEL_RESOURCE_ATTRIBUTES: "region=north" };
    await using server = await openTraced(collector, { basePath: "/api", tls }, env);
    const { origin } = new URL(server.url);
    const secret: readonly Pick<HttpRequest, "method" | "path" | "body">[] = [
      { path: "/api/plants", body: basil },
      { path: `/api/plants?access_token=${knownToken}`, body: basil },
      { method: "GET", path: `/api/plants/1/Basil/${knownToken}` },
      { path: "/api/grpc.health.v1.Health/Check", body: '{"service":"Basil"}' },
    ];
    for (const request of secret) {
      await exchange({ origin, version: "2", headers: json, ca, ...request });
    }
    const names = ["POST /api/plants", "POST /api/plants", "GET", "grpc.health.v1.Health/Check"];
    const spans = await collector.until(4);
    expect(spans).toMatchObject(names.map((name) => ({ name })));
    expect(spans[0]).toMatchObject({
      attributes: { "url.scheme": "https", "server.port": server.port },
      resource: { "service.name": "basil-bed", region: "north" },
    });
    const sent = collector.exports.map(({ body }) => body.toString("latin1"));
    expect(sent.join("")).not.toMatch(/Basil|access_token|a-token-for/);
  },
);

test("within a call that was let in there is a span of its wait for the store, and in no other", async () => {
  await using collector = await openOtlpCollector();
  await using server = await openTraced(collector);
  const send = (headers: Record<string, string>, body = basil) =>
    postPlant(server.url, { headers, body });
  await send({ traceparent });
  await send({ authorization: "Bearer nobody-knows-this" });
  await send({}, newPlantJson({ id: 2n }));
  await send({}, newPlantJson({ id: 1n, name: "Mint" }));
  const lock = lockStore(server.database);
  await send({ "connect-timeout-ms": "1000" }, newPlantJson({ id: 3n, name: "Sage" }));
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
