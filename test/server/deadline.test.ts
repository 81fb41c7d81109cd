/** Deadlines: those that clients set, kept, and those that no timer can hold, brought down. */
import { once } from "node:events";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { lockStore } from "../support/locked-store.ts";
import { get, openExpecting, plantOverHttp1, statusOfCreate } from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { grpcJs } from "../support/protocol/protocols.ts";
import { type RawProtocol, rawProtocols, restOverHttp1 } from "../support/protocol/raw.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { useTestServer } from "../support/use-test-server.ts";

const plant = { id: 1n, name: "Basil" };
const server = useTestServer();

async function codeFor(protocol: RawProtocol, timeoutMs: number, { unfinished = false } = {}) {
  const { body: all, ...request } = protocol.request(protocol.encode(plant), { timeoutMs });
  const body = unfinished ? all.subarray(0, -1) : all;
  const response = await exchange({ ...request, origin: server.url, body, unfinished });
  return refusalOf(protocol.read(response)).code;
}

const shortDeadlines = rawProtocols.map((protocol) => ({
  ...{ protocol, name: protocol.name, timeoutMs: 50 },
}));

const passedDeadlines = rawProtocols.map((protocol) => ({
  ...{ protocol, name: `${protocol.name}, before the body is read`, timeoutMs: 0 },
}));

test.each([...shortDeadlines, ...passedDeadlines])(
  "a short deadline passes while the body stays away: $name",
  async ({ protocol, timeoutMs }) => {
    const code = await codeFor(protocol, timeoutMs, { unfinished: true });
    expect(code).toBe(Code.DeadlineExceeded);
    expect(readStoredPlants(server.database)).toEqual([]);
  },
);

test.each(shortDeadlines)(
  "a short deadline passes while the store stalls: $name",
  async ({ protocol, timeoutMs }) => {
    using _lock = lockStore(server.database);
    expect(await codeFor(protocol, timeoutMs)).toBe(Code.DeadlineExceeded);
  },
);

test("a store that stalls stops neither health checks nor refusals, and a retry succeeds after it", async () => {
  const { encode, send } = restOverHttp1;
  const retried = { id: 2n, name: "Mint" };
  {
    using _lock = lockStore(server.database);
    using caller = grpcJs.open(server.url);
    const refusal = refusalOf(await caller.create(retried, { timeoutMs: 50 }));
    expect(refusal.code).toBe(Code.DeadlineExceeded);
    expect((await get(server.url, "/readyz")).status).toBe(200);
    expect(await statusOfCreate(server.url, 1, "a-token-nobody-knows")).toBe(401);
  }
  expect(await send(server.url, encode(retried))).toEqual({ ok: { name: "Mint" } });
});

test("a client that leaves while the store stalls does no harm to who comes next", async () => {
  {
    using _lock = lockStore(server.database);
    for (const id of [11, 12, 13]) {
      const bytes = plantOverHttp1(`{"id":${id},"name":"Basil"}`, "Expect: 100-continue");
      using connection = await openExpecting(server.port, bytes);
      connection.socket.destroy();
      await once(connection.socket, "close");
    }
  }
  expect(await statusOfCreate(server.url, 14)).toBe(200);
});
