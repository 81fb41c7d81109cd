/** Who asks too often is told so, and when to ask again, before anything else is done for it. */

import http2 from "node:http2";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { exchange, exchangeOn } from "../../packages/gateway/test/support/http-exchange.ts";
import { get, plantHeaders as headers, postPlant } from "../support/plant-request.ts";
import { newPlantJson } from "../support/protocol/message.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { knownToken, openTestServer, type TestServer } from "../support/test-server.ts";

const otherToken = "another-token-for-tests";
const auth = { tokenFile: undefined, tokens: [knownToken, otherToken] };

/** Time stands still but for what a test adds: a server in this process goes by it. */
const clock = { seconds: 0 };

beforeEach(() => {
  clock.seconds = 1000;
  vi.spyOn(process, "hrtime").mockImplementation((() => [clock.seconds, 0]) as never);
});

afterEach(() => vi.restoreAllMocks());

const limits = [
  {
    policy: "token",
    setting: "rateLimitPerToken",
    message: "too many requests with this token: the limit is 2 per second; try again later",
  },
  {
    policy: "address",
    setting: "rateLimitPerAddress",
    message: "too many requests from this address: the limit is 2 per second; try again later",
  },
] as const;

describe.each(limits)("a limit per $policy", ({ policy, setting, message }) => {
  test.each(protocols)("refuses what is over it, until a second has passed: $name", async (way) => {
    await using server = await openTestServer({ [setting]: 2 });
    using caller = way.open(server.url);
    const create = (id: bigint) => caller.create({ id, name: "Basil" });
    expect(await create(1n)).toEqual({ ok: { name: "Basil" } });
    expect(await create(2n)).toEqual({ ok: { name: "Basil" } });
    expect(refusalOf(await create(3n))).toMatchObject({ code: Code.ResourceExhausted, message });
    clock.seconds++;
    expect(await create(3n)).toEqual({ ok: { name: "Basil" } });
  });

  test.each(rawProtocols)(
    "tells when to ask again, before the body is there: $name",
    async (way) => {
      const { version, path, contentType, name } = way;
      await using server = await openTestServer({ [setting]: 2 });
      await createMany(server, 2);
      const headers = {
        "content-type": contentType,
        authorization: `Bearer ${knownToken}`,
        "content-length": "100",
      };
      const request = { origin: server.url, version, path, headers, body: "{", unfinished: true };
      const response = await exchange(request);
      const refusal = refusalOf(way.read(response));
      expect(refusal).toMatchObject({ code: Code.ResourceExhausted, message });
      if (!name.startsWith("REST")) expect(refusal.retryDelayMs).toBeCloseTo(500);
      if (!name.startsWith("gRPC")) expect(response.status).toBe(429);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "retry-after": "1",
        "ratelimit-policy": `"${policy}";q=2;w=1`,
        ratelimit: `"${policy}";r=0;t=1`,
      });
      for (const field of response.trailers.keys()) expect(field).not.toMatch(/^r(ate|etry)/);
    },
  );

  test("does not concern probes and reflection", async () => {
    await using server = await openTestServer({ [setting]: 1 });
    await createMany(server, 1);
    for (const path of ["/healthz", "/readyz", "/healthz"]) {
      expect((await get(server.url, path)).status).toBe(200);
    }
    const path = "/grpc.health.v1.Health/Check";
    const headers = { "content-type": "application/json" };
    const check = { origin: server.url, version: "1.1", path, headers, body: "{}" } as const;
    expect((await exchange(check)).status).toBe(200);
  });
});

test("a limit per address counts guesses, and a token that is right with them", async () => {
  await using server = await openTestServer({ rateLimitPerAddress: 3 });
  const guess = () => create(server, { token: "wrong" });
  expect([await guess(), await guess(), await guess(), await guess()]).toEqual([
    401, 401, 401, 429,
  ]);
  expect(await create(server, { token: knownToken })).toBe(429);
});

test.runIf(process.platform === "linux")("a limit per address is each address's own", async () => {
  await using server = await openTestServer({ rateLimitPerAddress: 1 });
  expect(await statusFrom("127.0.0.1", server)).toBe(200);
  expect(await statusFrom("127.0.0.1", server)).toBe(429);
  expect(await statusFrom("127.0.0.2", server)).toBe(200); // all of 127/8 is this machine
});

test("a limit per token is each token's own, and no stranger's", async () => {
  await using server = await openTestServer({ rateLimitPerToken: 1, auth });
  expect(await create(server, { token: knownToken })).toBe(200);
  expect(await create(server, { token: knownToken })).toBe(429);
  expect(await create(server, { token: otherToken })).toBe(200);
  for (let i = 0; i < 3; i++) expect(await create(server, { token: "wrong" })).toBe(401);
});

test("there is no limit, and no header of one, unless it is asked for", async () => {
  await using server = await openTestServer();
  const responses = await createMany(server, 50);
  for (const { status, headers } of responses) {
    expect(status).toBe(200);
    expect([...headers.keys()].filter((name) => name.startsWith("ratelimit"))).toEqual([]);
  }
});

async function create(server: TestServer, { token }: { token: string }): Promise<number> {
  return (await post(server, token, 1n)).status;
}

async function statusFrom(localAddress: string, { url }: TestServer) {
  const session = http2.connect(url, { localAddress } as http2.ClientSessionOptions);
  const body = newPlantJson({ id: 1n, name: "Basil" });
  const { status } = await exchangeOn(session, { path: "/plants", headers, body });
  session.destroy();
  return status;
}

async function createMany(server: TestServer, count: number) {
  return await Promise.all(
    Array.from({ length: count }, (_, i) => post(server, knownToken, BigInt(1000 + i))),
  );
}

function post(server: TestServer, token: string, id: bigint) {
  const body = newPlantJson({ id, name: "Basil" });
  return postPlant(server.url, { headers: { authorization: `Bearer ${token}` }, body });
}
