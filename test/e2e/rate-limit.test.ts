import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { exchange } from "../../packages/gateway/test/support/exchange.ts";
import { clients } from "../../packages/gateway/test/support/mcp-client.ts";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import {
  authorization,
  basil,
  plantHeaders,
  plantOverHttp1,
  postPlant,
  statusOfCreate,
} from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

/** Time stands still but for what a test adds: a server in this process goes by it. */
const clock = { seconds: 0 };

beforeEach(() => {
  clock.seconds = 1000;
  vi.spyOn(process, "hrtime").mockImplementation((() => [clock.seconds, 0]) as never);
});

afterEach(() => vi.restoreAllMocks());

test.each(protocols)("refuses what is over it, until a second has passed: $name", async (way) => {
  const message = "too many requests with this token: the limit is 2 per second; try again later";
  const refused = { code: Code.ResourceExhausted, message };
  await using server = await openTestServer({ rateLimitPerToken: 2 });
  using caller = way.open(server.url);
  const create = (id: bigint) => caller.create({ id, name: "Basil" });
  for (const id of [1n, 2n]) expect(await create(id)).toEqual({ ok: { name: "Basil" } });
  expect(refusalOf(await create(3n))).toMatchObject(refused);
  const raw = rawProtocols.find(({ name }) => name === way.name);
  if (raw !== undefined) {
    // Before the body is there.
    const { version, path, contentType } = raw;
    const headers = { ...plantHeaders, "content-type": contentType, "content-length": "100" };
    const request = { origin: server.url, version, path, headers, body: "{", unfinished: true };
    const response = await exchange(request);
    const refusal = refusalOf(raw.read(response));
    expect(refusal).toMatchObject(refused);
    if (!way.name.startsWith("REST")) expect(refusal.retryDelayMs).toBeCloseTo(500);
    if (!way.name.startsWith("gRPC")) expect(response.status).toBe(429);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "retry-after": "1",
      "ratelimit-policy": '"token";q=2;w=1',
      ratelimit: '"token";r=0;t=1',
    });
    expect([...response.trailers]).toEqual([]); // of gRPC: its clients retry after headers alone
  }
  clock.seconds++;
  expect(await create(3n)).toEqual({ ok: { name: "Basil" } });
});

test("a limit per address counts guesses, and a token that is right with them", async () => {
  await using server = await openTestServer({ rateLimitPerAddress: 3 });
  const statuses: number[] = [];
  for (const token of ["wrong", "wrong", "wrong", "wrong", knownToken]) {
    statuses.push(await statusOfCreate(server.url, 1, token));
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  const { headers } = await postPlant(server.url);
  expect(headers.get("ratelimit-policy")).toBe('"address";q=3;w=1');
  if (process.platform !== "linux") return;
  using other = await openRawConnection(server.port, { localAddress: "127.0.0.2" });
  other.write(plantOverHttp1(basil, "Connection: close"));
  expect(`${await other.untilClosed()}`).toMatch(/^HTTP\/1\.1 200 /);
});

test("a limit per token is each token's own, and no stranger's", async () => {
  const otherToken = "another-token-for-tests";
  const auth = { tokenFile: undefined, tokens: [knownToken, otherToken] };
  await using server = await openTestServer({ rateLimitPerToken: 1, auth });
  const statuses: number[] = [];
  const probe = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  for (const token of [knownToken, knownToken, otherToken, "wrong", "wrong", "wrong"]) {
    statuses.push(await statusOfCreate(server.url, 1, token));
    expect((await fetch(`${server.url}/grpc.health.v1.Health/Check`, probe)).status).toBe(200);
  }
  expect(statuses).toEqual([200, 429, 200, 401, 401, 401]);
});

test.each(clients)(
  "%s starts and lists tools whatever the limit per token",
  async (_by, connect) => {
    await using server = await openTestServer({ mcp: true, rateLimitPerToken: 1 });
    await using client = await connect(`${server.url}/mcp`, { authorization });
    expect(await client.listTools()).toHaveLength(1);
    const create = () => client.call("create_plant", { plant: { id: "1", name: "Basil" } });
    expect((await create()).isError).toBeFalsy();
    await expect(create()).rejects.toThrow("the limit is 1 per second");
  },
);
