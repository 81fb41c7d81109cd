/** Deadlines: those that clients set, kept, and those that no timer can hold, brought down. */

import { once } from "node:events";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import { lockStore } from "../support/locked-store.ts";
import { get, plantOverHttp1 } from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { grpcJs } from "../support/protocol/protocols.ts";
import { type RawProtocol, rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const plant = { id: 1n, name: "Basil" };

async function createWith(
  protocol: RawProtocol,
  url: string,
  headers: Record<string, string>,
  { unfinished = false } = {},
) {
  const body = protocol.frame(protocol.encode(plant));
  const response = await exchange({
    origin: url,
    version: protocol.version,
    path: protocol.path,
    headers: {
      authorization: `Bearer ${knownToken}`,
      "content-type": protocol.contentType,
      ...headers,
    },
    body: unfinished ? body.subarray(0, -1) : body,
    unfinished,
  });
  return protocol.read(response);
}

const isGrpc = ({ name }: RawProtocol) => name.startsWith("gRPC");

const shortDeadlines = rawProtocols.map((protocol) => ({
  protocol,
  name: protocol.name,
  headers: isGrpc(protocol) ? { "grpc-timeout": "50m" } : { "connect-timeout-ms": "50" },
}));

describe("a short deadline, while the store stalls", () => {
  const server = useTestServer();

  test.each(shortDeadlines)("passes over $name", async ({ protocol, headers }) => {
    using _lock = lockStore(server.database);
    const refusal = refusalOf(await createWith(protocol, server.url, headers));
    expect(refusal.code).toBe(Code.DeadlineExceeded);
  });

  test("stops neither health checks nor refusals, and a retry succeeds after it", async () => {
    const [protocol] = rawProtocols;
    if (protocol === undefined) throw new Error("no protocols");
    const retried = { id: 2n, name: "Mint" };
    {
      using _lock = lockStore(server.database);
      using caller = grpcJs.open(server.url);
      const refusal = refusalOf(await caller.create(retried, { timeoutMs: 50 }));
      expect(refusal.code).toBe(Code.DeadlineExceeded);
      expect((await get(server.url, "/readyz")).status).toBe(200);
      const stranger = await protocol.send(server.url, protocol.encode(plant), {
        authorization: null,
      });
      expect(refusalOf(stranger).code).toBe(Code.Unauthenticated);
    }
    expect(await protocol.send(server.url, protocol.encode(retried))).toEqual({
      ok: { name: "Mint" },
    });
  });
});

const passedDeadlines = rawProtocols.map((protocol) => ({
  protocol,
  name: `${protocol.name}, before the body is read`,
  headers: isGrpc(protocol) ? { "grpc-timeout": "0m" } : { "connect-timeout-ms": "0" },
}));

describe("a short deadline, while the body stays away", () => {
  const server = useTestServer();

  test.each([...shortDeadlines, ...passedDeadlines])(
    "passes over $name",
    async ({ protocol, headers }) => {
      const outcome = await createWith(protocol, server.url, headers, { unfinished: true });
      expect(refusalOf(outcome).code).toBe(Code.DeadlineExceeded);
      expect(await readStoredPlants(server.database)).toEqual([]);
    },
  );
});

describe("a client that leaves while the store stalls", () => {
  test("does no harm to who comes next", async () => {
    await using server = await openTestServer();
    const [rest] = rawProtocols;
    if (rest === undefined) throw new Error("no protocols");
    {
      using lock = lockStore(server.database);
      for (const id of [1, 2, 3]) {
        using connection = await openRawConnection(server.port);
        connection.write(plantOverHttp1(`{"id":${id},"name":"Basil"}`, "Expect: 100-continue"));
        await connection.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
        connection.socket.destroy();
        await once(connection.socket, "close");
      }
      lock.release();
    }
    const outcome = await rest.send(server.url, rest.encode({ id: 4n, name: "Mint" }));
    expect(outcome).toEqual({ ok: { name: "Mint" } });
  });
});
