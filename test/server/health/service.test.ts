/** grpc.health.v1.Health, for probes and load balancers. It says what /readyz says. */

import { renameSync, writeFileSync } from "node:fs";
import { Code, ConnectError } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { describe, expect, test } from "vitest";
import { exchange } from "../../../packages/gateway/test/support/http-exchange.ts";
import { grpcProtocol } from "../../../packages/gateway/test/support/open-client.ts";
import { readWatch } from "../../../packages/gateway/test/support/read-watch.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { get, postPlant } from "../../support/plant-request.ts";
import { openTestServer, type TestServer } from "../../support/test-server.ts";

const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
const plants = "plantstore.v1.PlantService";

/** Puts another file in the place of the database, and has the server find out. */
async function breakStore({ database, url, running }: TestServer): Promise<void> {
  renameSync(database, `${database}.old`);
  writeFileSync(database, "");
  await postPlant(url);
  await within("the report of the failure", running.failed);
}

test("what Check knows is SERVING, without a token", async () => {
  await using server = await openTestServer();
  using health = grpcProtocol.open(Health, server.url);
  const { statuses } = await health.client.list({});
  expect(Object.keys(statuses)).toEqual(["", plants]);
  for (const service of ["", plants]) {
    expect(await health.client.check({ service })).toMatchObject({ status: SERVING });
  }
});

test("Watch says NOT_SERVING when the store fails, and once", async () => {
  await using own = await openTestServer();
  using health = grpcProtocol.open(Health, own.url);
  const watch = readWatch(health.client.watch({ service: plants }));
  expect(await watch.next()).toBe(SERVING);
  await breakStore(own);
  expect(await watch.next()).toBe(NOT_SERVING);
  expect(await health.client.check({})).toMatchObject({ status: NOT_SERVING });
  const next = watch.next().catch((error) => ConnectError.from(error).code);
  await own.close();
  expect(await next).toBe(Code.Unavailable);
});

test("a drain tells those that watch, and ends their streams", async () => {
  await using server = await openTestServer({ drainTimeoutMs: 600_000 });
  using health = grpcProtocol.open(Health, server.url);
  const watch = readWatch(health.client.watch({ service: plants }));
  expect(await watch.next()).toBe(SERVING);
  const closed = server.close();
  expect(await within("the next status", watch.next())).toBe(NOT_SERVING);
  await within("the end of the drain", closed);
});

describe("below a base path", () => {
  test.each(["", "/api"])("Check is served at %j/grpc.health.v1.Health/Check", async (prefix) => {
    await using server = await openTestServer({ basePath: "/api" });
    using health = grpcProtocol.open(Health, new URL(server.url).origin + prefix);
    expect(await health.client.check({})).toMatchObject({ status: SERVING });
  });

  test("what needs a token is not served at the root", async () => {
    await using server = await openTestServer({ basePath: "/api" });
    const path = `/${plants}/CreatePlant`;
    const { origin } = new URL(server.url);
    const { status: code } = await exchange({ origin, version: "1.1", path });
    expect(code).toBe(404);
  });
});

test("switched off, nothing of it is served, and plants are", async () => {
  await using server = await openTestServer({ health: false });
  const { url: origin } = server;
  for (const path of ["/healthz", "/readyz"]) {
    expect((await get(origin, path)).status).toBe(404);
  }
  using health = grpcProtocol.open(Health, origin);
  await expect(health.client.check({})).rejects.toMatchObject({ code: Code.Unimplemented });
  expect(await postPlant(origin)).toMatchObject({ status: 200 });
});
