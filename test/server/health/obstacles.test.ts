/** A store that takes no plants for a while, as operators see it: /readyz, grpc.health, metrics, the log. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { describe, expect, onTestFinished, test } from "vitest";
import { grpcProtocol } from "../../../packages/gateway/test/support/open-client.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { get } from "../../support/plant-request.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { rawProtocols } from "../../support/protocol/raw.ts";
import { scrape } from "../../support/scrape.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { canMount, mountFileSystem } from "../../support/small-file-system.ts";
import {
  openTestServer,
  type TestServer,
  type TestServerOptions,
} from "../../support/test-server.ts";

const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;

/** What is in the way, and how to take it away. */
interface Trouble extends Disposable {
  readonly server: TestServer;
  begin(): Promise<void>;
  end(): Promise<void>;
}

async function openOnSmallDisk(): Promise<Trouble> {
  const disk = await mountFileSystem("tmpfs");
  onTestFinished(() => disk[Symbol.asyncDispose]());
  const server = await openTestServer({ ...options, database: join(disk.path, "plants.db") });
  return {
    server,
    begin: async () => disk.fill(0),
    end: async () => disk.empty(),
    [Symbol.dispose]() {},
  };
}

const options: TestServerOptions = { adminPort: 0 };

async function openLocked(): Promise<Trouble> {
  const server = await openTestServer(options);
  let lock: ReturnType<typeof lockStore> | undefined;
  return {
    server,
    begin: async () => {
      lock = lockStore(server.database);
    },
    end: async () => lock?.release(),
    [Symbol.dispose]: () => lock?.release(),
  };
}

async function openUnlogged(): Promise<Trouble> {
  const database = await sharedServer.current.createDatabase();
  const server = await openTestServer({ ...options, store: sharedServer.current.url(database) });
  const alter = async (how: string) => {
    await sharedServer.current.query(`ALTER TABLE plants SET ${how}`, database);
  };
  return {
    server,
    begin: () => alter("UNLOGGED"),
    end: () => alter("LOGGED"),
    [Symbol.dispose]() {},
  };
}

const plant = { id: 1n, name: "x".repeat(20_000) };

async function create(server: TestServer, id: bigint): Promise<unknown> {
  const [rest] = rawProtocols;
  return await rest?.send(server.url, rest.encode({ ...plant, id }));
}

async function readyz({ url }: TestServer) {
  const answer = await get(url, "/readyz");
  return { status: answer.status, body: answer.body.toString() };
}

async function untilStatus(server: TestServer, status: number): Promise<string> {
  const changed = async () => {
    for (;;) {
      const now = await readyz(server);
      if (now.status === status) return now.body;
      await delay(20);
    }
  };
  return await within(`/readyz with ${status}`, changed(), 20_000);
}

async function expectEverywhere(server: TestServer, isReady: boolean): Promise<void> {
  using health = grpcProtocol.open(Health, server.url);
  const status = isReady ? SERVING : NOT_SERVING;
  expect(await health.client.check({})).toMatchObject({ status });
  const { value } = await scrape(server.running.metricsUrl);
  expect(value("plant_store_ready")).toBe(isReady ? 1 : 0);
}

describe.each<[string, boolean, () => Promise<Trouble>, string]>([
  ["a full disk", canMount, openOnSmallDisk, "the disk of the store is full"],
  ["a lock of another process", true, openLocked, "the store is locked by another program"],
  [
    "a table that was made unlogged",
    hasPostgres,
    openUnlogged,
    "the store would not keep plants through a crash",
  ],
])("%s", (_, canRun, open, reason) => {
  test.skipIf(!canRun)(
    "takes the server out of service, and it comes back by itself",
    async () => {
      using trouble = await open();
      const { server } = trouble;
      await using _server = server;
      expect(await create(server, 1n)).toMatchObject({ ok: {} });
      await expectEverywhere(server, true);
      await trouble.begin();
      await create(server, 2n);
      expect(await untilStatus(server, 503)).toBe(
        `{"error":14,"message":"the server is not ready: ${reason}"}`,
      );
      await expectEverywhere(server, false);
      expect(await create(server, 3n)).toMatchObject({ code: Code.Unavailable, status: 503 });
      await trouble.end();
      await untilStatus(server, 200);
      await expectEverywhere(server, true);
      expect(await create(server, 3n)).toMatchObject({ ok: {} });
      const said = server.log.lines.filter(({ message }) => /ready/.test(message));
      expect(said).toMatchObject([
        { level: "warn", message: `not ready: ${reason}`, cause: expect.any(Error) },
        { level: "info", message: "ready: the store accepts plants again" },
      ]);
    },
    60_000,
  );
});
