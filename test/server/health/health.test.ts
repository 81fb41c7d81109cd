/** Health, for probes and load balancers: two paths and grpc.health.v1, which need no token and say the same. */
import { renameSync, writeFileSync } from "node:fs";
import { Code, ConnectError } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { expect, test } from "vitest";
import { grpcProtocol } from "../../../packages/gateway/test/support/open-client.ts";
import { readWatch } from "../../../packages/gateway/test/support/read-watch.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { get, postPlant } from "../../support/plant-request.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";
import { useTestServer } from "../../support/use-test-server.ts";

const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
const plants = "plantstore.v1.PlantService";

const server = useTestServer({ basePath: "/api" });

test.each(["", "/api"])("all is well, at %j, without a token", async (prefix) => {
  const { origin } = new URL(server.url);
  for (const path of ["/healthz", "/readyz"]) {
    const { status, body } = await get(origin, prefix + path);
    expect({ status, body: `${body}` }).toEqual({ status: 200, body: '{"status":"ok"}' });
  }
  using health = grpcProtocol.open(Health, origin + prefix);
  const { statuses } = await health.client.list({});
  expect(Object.keys(statuses)).toEqual(["", plants]);
  for (const service of ["", plants]) {
    expect(await health.client.check({ service })).toMatchObject({ status: SERVING });
  }
});

test("when the store has failed, all say so, and creates say when to try again", async () => {
  // More than the test would wait: the watch must end when the drain begins.
  await using own = await openTestServer({ drainTimeoutMs: 600_000 });
  using health = grpcProtocol.open(Health, own.url);
  const watch = readWatch(health.client.watch({ service: plants }));
  expect(await watch.next()).toBe(SERVING);
  // What is written from now on would be lost.
  renameSync(own.database, `${own.database}.old`);
  writeFileSync(own.database, "");
  await expectRetryAfter(own.url, knownToken);
  await within("the report of the failure", own.running.failed);
  expect(await watch.next()).toBe(NOT_SERVING);
  expect(await health.client.check({})).toMatchObject({ status: NOT_SERVING });
  const ready = await get(own.url, "/readyz");
  expect(ready.status).toBe(503);
  const reason = "the store has failed for good, and the server ends";
  expect(JSON.parse(ready.body.toString())).toEqual({
    error: Code.Unavailable,
    message: `the server is not ready: ${reason}`,
  });
  expect((await get(own.url, "/healthz", "2")).status).toBe(200);
  const next = watch.next().catch((error) => ConnectError.from(error).code);
  await own.close();
  expect(await next).toBe(Code.Unavailable);
});

async function expectRetryAfter(origin: string, token: string): Promise<void> {
  const response = await postPlant(origin, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expectRestError(response, { error: Code.Unavailable });
}

test("switched off, nothing of it is served, and plants are", async () => {
  await using own = await openTestServer({ health: false });
  for (const path of ["/healthz", "/readyz"]) expect((await get(own.url, path)).status).toBe(404);
  using health = grpcProtocol.open(Health, own.url);
  await expect(health.client.check({})).rejects.toMatchObject({ code: Code.Unimplemented });
  expect(await postPlant(own.url)).toMatchObject({ status: 200 });
});
