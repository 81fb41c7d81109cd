/** Several threads, one service: whatever a client or an operator sees is that of one. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { exchangeOn } from "../../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { revokeToken } from "../../../src/auth/token-file.ts";
import { spawnServer } from "../../support/child-server.ts";
import { lockStore } from "../../support/locked-store.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { newPlantJson } from "../../support/protocol/message.ts";
import type { PlantCaller, PlantInput } from "../../support/protocol/protocol.ts";
import { protocols } from "../../support/protocol/protocols.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { storeKinds } from "../../support/store-place.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { knownToken, openTestServer, type TestServer } from "../../support/test-server.ts";
import {
  oneConnectionEach,
  openSession,
  openThreadSessions,
  tryToOpen,
} from "../../support/thread-sessions.ts";

beforeEach(({ skip }) => skip(process.platform !== "linux", "needs a kernel that shares ports"));

async function post(session: ClientHttp2Session, plant: PlantInput, token = knownToken) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = newPlantJson(plant);
  const response = await exchangeOn(session, { path: "/plants", headers, body });
  return { status: response.status, body: response.body.toString() };
}

async function getReady(session: ClientHttp2Session): Promise<number> {
  return (await exchangeOn(session, { method: "GET", path: "/readyz" })).status;
}

describe("over every protocol", () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await openTestServer({ threads: 2 });
    return () => server.close();
  });

  test.each(protocols)("$name: all connections see one store", async ({ name: protocol, open }) => {
    using stack = new DisposableStack();
    // The kernel gives all of them to one thread once in 32,768 runs.
    const callers = Array.from({ length: 16 }, () => stack.use(open(server.url)));
    const name = (index: number) => `plant ${index} 🌱`;
    const first = 2n ** 53n + 100n * BigInt(protocols.findIndex((one) => one.name === protocol));
    const ids = callers.map((_, index) => first + BigInt(index));
    const create = (caller: PlantCaller, index: number) =>
      caller.create({ id: ids[index] ?? 0n, name: name(index) });
    expect(await Promise.all(callers.map(create))).toStrictEqual(
      ids.map((_, index) => ({ ok: { name: name(index) } })),
    );
    const others = callers.map((caller) => caller.create({ id: ids[0] ?? 0n, name: "Mint" }));
    for (const refusal of await Promise.all(others)) {
      expect(refusal).toMatchObject({ code: Code.AlreadyExists });
    }
    const stored = new Set(readStoredPlants(server.database).map(({ id }) => id));
    expect(ids.filter((id) => !stored.has(id))).toEqual([]);
  });
});

const storesHere = storeKinds.filter(({ isMissing }) => !isMissing);

describe.each(storesHere)("on $store, plants that race in two threads", ({ open }) => {
  const ids = Array.from({ length: 100 }, (_, id) => BigInt(id));

  test("for an id: exactly one wins", async () => {
    await using place = await open();
    await using server = await openTestServer({ ...oneConnectionEach, store: place.url });
    using threads = await openThreadSessions(server.url);
    const racers = ids.flatMap((id) =>
      threads.sessions.map((session, index) => ({ session, plant: { id, name: `${index}` } })),
    );
    const answers = await Promise.all(racers.map(({ session, plant }) => post(session, plant)));
    const won = racers.filter((_, index) => answers[index]?.status === 200);
    expect(won.map(({ plant }) => plant.id)).toEqual(ids);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const { status, body } of refused) {
      expect({ status, error: JSON.parse(body).error }).toEqual({ status: 400, error: 6 });
    }
  });

  test("and are equal: all succeed", async () => {
    await using place = await open();
    await using server = await openTestServer({ ...oneConnectionEach, store: place.url });
    using threads = await openThreadSessions(server.url);
    const answers = await Promise.all(
      ids.flatMap((id) => threads.sessions.map((session) => post(session, { id, name: "Fern" }))),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(await place.read()).toHaveLength(ids.length);
  });
});

describe("a drain under load", () => {
  test("loses no plant that was confirmed, and ends both threads", async () => {
    await using folder = await createTemporaryFolder();
    const database = join(folder.path, "plants.db");
    await using server = await openTestServer({ ...oneConnectionEach, database });
    using threads = await openThreadSessions(server.url);
    const confirmed = new Set<bigint>();
    const enough = Promise.withResolvers<void>();
    let id = 0n;
    const callUntilRefused = async (session: ClientHttp2Session) => {
      while (!session.closed && !session.destroyed) {
        const plant = { id: id++, name: "Basil" };
        // A stream that came too late for the drain was not begun.
        const answer = await post(session, plant).catch(() => undefined);
        if (answer === undefined) return;
        expect(answer.status).toBe(200);
        confirmed.add(plant.id);
        if (confirmed.size === 500) enough.resolve();
      }
    };
    const callers = threads.sessions.flatMap((session) =>
      Array.from({ length: 16 }, () => callUntilRefused(session)),
    );
    await within("500 plants", enough.promise);
    await server.close();
    await within("the end of the callers", Promise.all(callers));
    const stored = new Set(readStoredPlants(database).map((plant) => plant.id));
    expect([...confirmed].filter((plant) => !stored.has(plant))).toEqual([]);
  });
});

describe("limits", () => {
  test("of connections are divided among the threads", async () => {
    await using server = await openTestServer({ threads: 2, limits: { connectionsMax: 3 } });
    const sessions = [];
    for (let count = 0; count < 3; count++) sessions.push(await openSession(server.url));
    for (let tries = 0; tries < 10; tries++) expect(await tryToOpen(server.url)).toBeUndefined();
    for (const session of sessions) session.destroy();
  });

  test("of the connections of one address are divided among the threads", async () => {
    const limits = { connectionsPerAddressMax: 2 };
    await using server = await openTestServer({ threads: 2, limits });
    const sessions = [await openSession(server.url), await openSession(server.url)];
    for (let tries = 0; tries < 10; tries++) expect(await tryToOpen(server.url)).toBeUndefined();
    for (const session of sessions) session.destroy();
  });

  test("of the rate hold for both threads together", async () => {
    const perSecond = 50;
    await using server = await openTestServer({
      ...oneConnectionEach,
      rateLimitPerToken: perSecond,
    });
    using threads = await openThreadSessions(server.url);
    const begin = performance.now();
    const answers = await Promise.all(
      threads.sessions.flatMap((session) =>
        Array.from({ length: perSecond }, (_, id) => post(session, { id: BigInt(id), name: "" })),
      ),
    );
    const seconds = (performance.now() - begin) / 1000;
    const taken = answers.filter(({ status }) => status === 200).length;
    expect(taken).toBeGreaterThanOrEqual(perSecond);
    expect(taken).toBeLessThanOrEqual(Math.ceil(perSecond * (1 + seconds)));
    expect(taken + answers.filter(({ status }) => status === 429).length).toBe(answers.length);
  });

  test("of what may wait for the store hold for both threads together", async () => {
    await using server = await openTestServer(oneConnectionEach);
    using threads = await openThreadSessions(server.url);
    using lock = lockStore(server.database);
    const name = "x".repeat(1_000_000);
    // 2 MB of heap each: those of one thread alone would find room, in 64 MiB.
    const answers = threads.sessions.flatMap((session, thread) =>
      Array.from({ length: 20 }, (_, index) =>
        post(session, { id: BigInt(20 * thread + index), name }),
      ),
    );
    const refused = Promise.any(
      answers.map(async (answer) => ((await answer).status === 503 ? answer : Promise.reject())),
    );
    expect(JSON.parse((await within("a refusal", refused)).body)).toEqual({
      error: 14,
      message: "the store has too much work waiting; try again later",
    });
    lock.release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    const created = statuses.filter((status) => status === 200);
    expect(created.length).toBeGreaterThanOrEqual(30);
    expect(readStoredPlants(server.database)).toHaveLength(created.length);
  });
});

describe("tokens", () => {
  test("of a first start are one, and a revoked one stops in both threads", async () => {
    await using folder = await createTemporaryFolder();
    const tokenFile = join(folder.path, "tokens");
    await using server = await openTestServer({ ...oneConnectionEach, auth: { tokenFile } });
    const { firstToken } = server.running;
    expect(readFileSync(tokenFile, "utf8").match(/^create /gm)).toHaveLength(1);
    using threads = await openThreadSessions(server.url);
    const ask = async (session: ClientHttp2Session) =>
      (await post(session, { id: 1n, name: "Basil" }, firstToken)).status;
    expect(await Promise.all(threads.sessions.map(ask))).toEqual([200, 200]);
    await revokeToken(tokenFile, "first");
    const untilRefused = async (session: ClientHttp2Session) => {
      while ((await ask(session)) === 200) await delay(20);
    };
    await within("the end of the token", Promise.all(threads.sessions.map(untilRefused)));
    expect(await Promise.all(threads.sessions.map(ask))).toEqual([401, 401]);
  });

  test("whose file is broken are said to be once, with the reason", async () => {
    await using folder = await createTemporaryFolder();
    const tokenFile = join(folder.path, "tokens");
    await using server = await openTestServer({ ...oneConnectionEach, auth: { tokenFile } });
    using threads = await openThreadSessions(server.url);
    writeFileSync(tokenFile, "no token\n");
    const { firstToken } = server.running;
    const untilRefused = async (session: ClientHttp2Session) => {
      while ((await post(session, { id: 1n, name: "Basil" }, firstToken)).status === 200) {
        await delay(20);
      }
    };
    await within("the end of the token", Promise.all(threads.sessions.map(untilRefused)));
    // All that the threads have to say is there then.
    await server.close();
    expect(server.log.lines).toMatchObject([
      { level: "warn", message: expect.stringMatching(/line 1 cannot be understood/) },
    ]);
  });
});

describe("readiness", () => {
  test("ends in both threads when the store fails for good", async () => {
    await using server = await openTestServer(oneConnectionEach);
    using threads = await openThreadSessions(server.url);
    const [one] = threads.sessions;
    expect(await Promise.all(threads.sessions.map(getReady))).toEqual([200, 200]);
    renameSync(server.database, `${server.database}.old`);
    writeFileSync(server.database, "");
    expect(await post(one, { id: 1n, name: "Basil" })).toMatchObject({ status: 503 });
    await within("the report of the failure", server.running.failed);
    expect(await Promise.all(threads.sessions.map(getReady))).toEqual([503, 503]);
  });
});

describe("a port", () => {
  test.each([1, 2])("that a server of %i threads has is in use for another", async (threads) => {
    await using first = await openTestServer({ threads });
    const { port } = first;
    for (const others of [1, 2]) {
      await expect(openTestServer({ port, threads: others })).rejects.toMatchObject({
        code: "EADDRINUSE",
      });
    }
  });
});

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  test.each([
    [[], 4],
    [["pool_max_conns=1"], 2],
  ])("with %j, %i connections at most serve both threads", async (params, connections) => {
    const postgres = sharedServer.current;
    const database = await postgres.createDatabase();
    const store = postgres.url(database, "postgres", ...params);
    await using server = await openTestServer({ ...oneConnectionEach, store });
    using threads = await openThreadSessions(server.url);
    await using holder = await openPostgresClient(postgres.url(database));
    await holder.query("BEGIN; LOCK TABLE plants IN SHARE MODE");
    const waiting = `SELECT * FROM pg_stat_activity
      WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
    const answers: ReturnType<typeof post>[] = [];
    let most = 0;
    const untilWaiting = async (count: number) => {
      while (most < count) most = Math.max(most, (await postgres.query(waiting)).length);
    };
    // Each round begins one more commit in each thread, while there are connections.
    for (let round = 1; round <= 12; round++) {
      const plant = { id: BigInt(round), name: "Fern" };
      for (const session of threads.sessions) answers.push(post(session, plant));
      const count = Math.min(round * threads.sessions.length, connections);
      await within(`${count} commits under way`, untilWaiting(count));
      most = Math.max(most, (await postgres.query(waiting)).length);
    }
    await holder.query("ROLLBACK");
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(most).toBe(connections);
  });

  test.each([
    ["one thread", 1],
    ["both threads", 2],
  ])("an outage of %s ends the readiness of both, and its end brings it back", async (_, lost) => {
    const postgres = sharedServer.current;
    const database = await postgres.createDatabase();
    const store = postgres.url(database);
    await using server = await openTestServer({ ...oneConnectionEach, store });
    using threads = await openThreadSessions(server.url);
    const until = async (wanted: readonly number[]) => {
      const isThere = async () =>
        (await Promise.all(threads.sessions.map(getReady))).join() === wanted.join();
      while (!(await isThere())) await delay(20);
    };
    const allow = (isAllowed: boolean) =>
      postgres.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS ${isAllowed}`);
    await allow(false);
    const ended = await postgres.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '${database}' AND backend_type = 'client backend' LIMIT ${lost}`,
    );
    expect(ended).toHaveLength(lost);
    await within("the outage in both threads", until([503, 503]));
    await allow(true);
    await within("its end in both threads", until([200, 200]));
  });
});

describe("a serving thread that dies", () => {
  const preload = new URL("../../support/crash-thread.ts", import.meta.url).href;
  const spawn = (cwd: string, how: string, ...flags: readonly string[]) =>
    spawnServer({
      cwd,
      args: ["--threads", "2", "--connections-max", "2"],
      env: { NODE_OPTIONS: ["--import", preload, ...flags].join(" "), TEST_CRASH: how },
    });

  test.each([
    ["of an error", "error", [], /Error: crash\\n.*"serving thread 1 died and is being restarted"/],
    ["of too little memory", "memory", ["--max-old-space-size=64"], /ERR_WORKER_OUT_OF_MEMORY/],
  ])("%s is started again, and the other goes on", async (_, how, flags, line) => {
    await using folder = await createTemporaryFolder();
    await using server = await spawn(folder.path, how, ...flags);
    using threads = await openThreadSessions(server.url);
    const ended = Promise.withResolvers<ClientHttp2Session>();
    for (const session of threads.sessions) session.once("close", () => ended.resolve(session));
    server.process.kill("SIGUSR2");
    const dead = await within("the end of a thread", ended.promise, 15_000);
    const survivor = threads.sessions.find((session) => session !== dead);
    if (survivor === undefined) throw new Error("both threads have died");
    expect(await post(survivor, { id: 1n, name: "Basil" })).toMatchObject({ status: 200 });
    expect(await getReady(survivor)).toBe(200);
    await server.stderr.until(line);

    // The other has its one connection still, so that this is with the new thread.
    const renewed = await openSession(server.url);
    expect(await post(renewed, { id: 1n, name: "Mint" })).toMatchObject({ status: 400 });
    expect(await post(renewed, { id: 2n, name: "Mint" })).toMatchObject({ status: 200 });
    for (const session of [renewed, survivor]) session.destroy();
    server.process.kill("SIGTERM");
    expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
  });

  test("at every start ends the service with 1, after a drain", async () => {
    await using folder = await createTemporaryFolder();
    await using server = await spawn(folder.path, "for good");
    server.process.kill("SIGUSR2");
    expect(await within("the end", server.exited, 15_000)).toEqual({ code: 1, signal: null });
    expect(server.stderr.text).toMatch(
      /"level":"error".*thread 1 does.*"the service has failed: draining"/,
    );
    expect(server.stderr.text).toMatch(/crash at the start/);
  });
});
