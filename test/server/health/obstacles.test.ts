/** A store that takes no plants for a while, as operators see it: /readyz, grpc.health, metrics, the log. */
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { expect, onTestFinished, test } from "vitest";
import { grpcProtocol } from "../../../packages/gateway/test/support/open-client.ts";
import { lockStore } from "../../support/locked-store.ts";
import { get } from "../../support/plant-request.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { restOverHttp1 } from "../../support/protocol/raw.ts";
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
interface Trouble {
  readonly server: TestServer;
  begin(): unknown;
  end(): unknown;
}

const options: TestServerOptions = { adminPort: 0 };

async function openOnSmallDisk(): Promise<Trouble> {
  const disk = await mountFileSystem("tmpfs");
  onTestFinished(() => disk[Symbol.asyncDispose]());
  const server = await openTestServer({ ...options, database: join(disk.path, "plants.db") });
  return { server, begin: () => disk.fill(0), end: () => disk.empty() };
}

async function openLocked(): Promise<Trouble> {
  const server = await openTestServer(options);
  let lock: ReturnType<typeof lockStore> | undefined;
  const begin = () => {
    lock = lockStore(server.database);
  };
  const end = () => lock?.release();
  onTestFinished(end);
  return { server, begin, end };
}

async function openUnlogged(): Promise<Trouble> {
  const database = await sharedServer.current.createDatabase();
  const server = await openTestServer({ ...options, store: sharedServer.current.url(database) });
  const alter = (how: string) =>
    sharedServer.current.query(`ALTER TABLE plants SET ${how}`, database);
  return { server, begin: () => alter("UNLOGGED"), end: () => alter("LOGGED") };
}

function create({ url }: TestServer, id: bigint) {
  return restOverHttp1.send(url, restOverHttp1.encode({ id, name: "x".repeat(20_000) }));
}

/** @returns the body. */
async function untilReadyz({ url }: TestServer, status: number): Promise<string> {
  const readyz = () => get(url, "/readyz");
  await expect.poll(readyz, { interval: 20 }).toMatchObject({ status });
  const posted = await fetch(`${url}/readyz`, { method: "POST" });
  expect(await posted.json()).toMatchObject({ error: Code.Unimplemented });
  return String((await readyz()).body);
}

async function expectEverywhere(server: TestServer, isReady: boolean): Promise<void> {
  using health = grpcProtocol.open(Health, server.url);
  const status = isReady ? SERVING : NOT_SERVING;
  expect(await health.client.check({})).toMatchObject({ status });
  const { value } = await scrape(server.running.metricsUrl);
  expect(value("plant_store_ready")).toBe(isReady ? 1 : 0);
}

test.for<[what: string, canRun: boolean, open: () => Promise<Trouble>, reason: string]>([
  ["a full disk", canMount, openOnSmallDisk, "the disk of the store is full"],
  ["a lock of another process", true, openLocked, "the store is locked by another program"],
  ["unlogged plants", hasPostgres, openUnlogged, "the store would not keep plants through a crash"],
])(
  "%s takes the server out of service, and it comes back by itself",
  async ([, canRun, open, reason], { skip }) => {
    skip(!canRun);
    const { server, begin, end } = await open();
    await using _server = server;
    expect(await create(server, 1n)).toMatchObject({ ok: {} });
    await expectEverywhere(server, true);
    await begin();
    await create(server, 2n);
    expect(await untilReadyz(server, 503)).toBe(
      `{"error":14,"message":"the server is not ready: ${reason}"}`,
    );
    await expectEverywhere(server, false);
    expect(await create(server, 3n)).toMatchObject({ code: Code.Unavailable, status: 503 });
    await end();
    await untilReadyz(server, 200);
    await expectEverywhere(server, true);
    expect(await create(server, 3n)).toMatchObject({ ok: {} });
    expect(server.log.lines.filter(({ message }) => /ready/.test(message))).toMatchObject([
      { level: "warn", message: `not ready: ${reason}`, cause: expect.any(Error) },
      { level: "info", message: "ready: the store accepts plants again" },
    ]);
    const [failed] = server.log.lines.filter(({ message }) => message.includes("CreatePlant"));
    expect(failed).toMatchObject({ level: "warn", cause: expect.any(Error) });
  },
);
