/** Deadlines: those that clients set, kept, and those that no timer can hold, brought down. */
import { once } from "node:events";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { lockStore } from "../support/locked-store.ts";
import { get, openExpecting, plantOverHttp1, statusOfCreate } from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { grpcJs } from "../support/protocol/protocols.ts";
import { rawProtocols, restOverHttp1 } from "../support/protocol/raw.ts";
import { useTestServer } from "../support/use-test-server.ts";

const plant = { id: 1n, name: "Basil" };
const server = useTestServer();

test.each(rawProtocols)("a deadline passes while the store stalls: $name", async (protocol) => {
  using _lock = lockStore(server.database);
  const outcome = await protocol.send(server.url, protocol.encode(plant), { timeoutMs: 50 });
  expect(refusalOf(outcome).code).toBe(Code.DeadlineExceeded);
});

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
