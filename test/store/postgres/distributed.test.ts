/** A table that Citus has distributed, as far as plain PostgreSQL can simulate one. */
import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import pg from "pg";
import { describe, expect, test } from "vitest";
import type { NewPlant } from "../../../src/plant.ts";
import type { Finding } from "../../../src/store/finding.ts";
import { checkStore } from "../../../src/store/open.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import type { PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { openEngine } from "../../../src/store/postgres/open.ts";
import { hashOf } from "../../../src/store/postgres/placement.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf } from "../plant-of.ts";
import { expectKept } from "../suite.ts";
import { untilObstacle } from "../until-obstacle.ts";
import { fakeCitus } from "./fake-citus.ts";
import {
  openTestStore,
  quickLimits,
  readPlants,
  through,
  useServer,
  withoutSync,
} from "./fresh.ts";

/** Citus's errors for a node that it has lost, and for one that it cannot reach. */
const lostStates = ["XX000", "08006"];

const safe = "on on on";

describe.skipIf(!hasPostgres)("on the shared server", () => {
  const server = sharedServer;

  async function openFresh(limits: Partial<PostgresLimits> = {}) {
    const { database, url, citus } = await openDatabase(server.current);
    const store = await openTestStore(url, limits);
    const [ones, twos] = await Promise.all([citus.idsOf(1, 100), citus.idsOf(2, 100)]);
    return { database, store, citus, ones: ones.map(plantOf), twos: twos.map(plantOf) };
  }

  test("the node of a plant is computed as in Citus", async () => {
    const ids = Array.from({ length: 500 }, () => randomBytes(8).readBigInt64BE());
    ids.push(0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n));
    const rows = await server.current.query(
      `SELECT hashint8(id) AS hash FROM unnest('{${ids}}'::bigint[]) AS id`,
    );
    expect(ids.map(hashOf)).toEqual(rows.map(({ hash }) => hash));
  });

  test("each statement is for one node", async () => {
    const { database, store, ones, twos } = await openFresh();
    await Promise.all([...ones, ...twos].map((plant) => store.create(plant)));
    const mixed = await server.current.query(
      "SELECT FROM plants GROUP BY xmin::text HAVING count(DISTINCT node_of(id)) > 1",
      database,
    );
    expect(mixed).toEqual([]);
  });

  test.each(lostStates)(
    "while a node is down (%s), plants of others are stored; its own when it is back",
    async (state) => {
      const { store, citus, ones, twos } = await openFresh();
      await citus.fail(1, state);
      let stored = 0;
      const waiting = ones.map(async (plant) => {
        await store.create(plant);
        stored++;
      });
      await Promise.all(twos.map((plant) => store.create(plant)));
      expect(stored).toBe(0);
      expect(store.obstacle()).toBeUndefined();
      await citus.mend();
      await Promise.all(waiting);
      for (const plant of ones.slice(0, 5)) await expectKept(store, plant);
    },
  );

  test("a node that accepts statements is used directly, or through the coordinator if it fails", async () => {
    const { database, url, citus } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(
      server.current.port,
      "INSERT INTO plants AS kept (id, name, tag) VALUES",
    );
    await citus.open(1, proxy.port);
    const store = await openTestStore(url);
    const [ones, twos] = await Promise.all([citus.idsOf(1, 20), citus.idsOf(2, 20)]);
    for (const id of [...ones.slice(0, 5), ...twos]) await store.create(plantOf(id));
    expect(proxy.seen).toHaveLength(5);
    proxy.refuse();
    await Promise.all(ones.map((id) => store.create(plantOf(id))));
    expect(proxy.seen).toHaveLength(5);
    proxy.allow();
    // Recovered without help, like a server after an outage.
    for (let tries = 0; proxy.seen.length === 5; tries++) {
      await store.create(plantOf(ones[tries % ones.length] ?? 0n));
    }
    expect(await readPlants(server.current, database)).toHaveLength(40);
    await store.close();
  });

  test("a node that hangs delays no plant of another", async () => {
    const { url, citus } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO plants AS kept");
    await citus.open(1, proxy.port);
    const hour = 3_600_000;
    const store = await openTestStore(url, { statementTimeoutMs: hour, aliveIntervalMs: hour });
    const [ones, twos] = await Promise.all([citus.idsOf(1, 100), citus.idsOf(2, 100)]);
    proxy.hang();
    let stored = 0;
    const waiting: Promise<unknown>[] = [];
    for (const [index, id] of ones.entries()) {
      waiting.push(store.create(plantOf(id)).then(() => stored++));
      await store.create(plantOf(twos[index] ?? 0n));
    }
    expect(stored).toBe(0);
    expect(store.obstacle()).toBeUndefined();
    proxy.refuse();
    await Promise.all(waiting);
  });

  test("plants of a node that hangs are not retried, and the next go through the coordinator", async () => {
    const { url, citus } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO plants AS kept");
    await citus.open(1, proxy.port);
    const store = await openTestStore(url, { retryLimitMs: 3_600_000, aliveIntervalMs: 100 });
    const [first = 0n, next = 0n] = await citus.idsOf(1, 2);
    proxy.hang();
    await expect(store.create(plantOf(first))).rejects.toMatchObject({ code: "unavailable" });
    await store.create(plantOf(next));
    proxy.allow();
    await store.create(plantOf(first));
  });

  test.each([
    ["the statement before", 1],
    ["a session", 2],
  ])("a plant that waits for %s on a node that hangs is soon unavailable", async (_, sessions) => {
    const { url, citus } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO plants AS kept");
    await citus.open(1, proxy.port);
    const hour = 3_600_000;
    const limits = { aliveIntervalMs: 100, connectTimeoutMs: hour };
    const store = await openTestStore(`${url}&pool_max_conns=${sessions}`, limits);
    const [first = 0n, next = 0n] = await citus.idsOf(1, 2);
    proxy.hang();
    const all = [store.create(plantOf(first))];
    for (let turn = 0; turn < 3; turn++) await nextTurn(); // or both would share a commit
    all.push(store.create(plantOf(next)));
    for (const result of await Promise.allSettled(all)) {
      expect(result).toMatchObject({ reason: { code: "unavailable" } });
    }
  });

  test("a plant that waits for a session of a node that hangs is not retried", async () => {
    const { url, citus } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO plants AS kept");
    await citus.open(1, proxy.port);
    const hour = 3_600_000;
    const limits = { retryLimitMs: hour, aliveIntervalMs: hour, statementTimeoutMs: hour };
    const store = await openTestStore(url, { ...limits, connectTimeoutMs: 200 });
    const [first = 0n, next = 0n] = await citus.idsOf(1, 2);
    proxy.hang();
    const waiting = store.create(plantOf(first)); // in the only session
    for (let turn = 0; turn < 3; turn++) await nextTurn(); // or both would share a commit
    await expect(store.create(plantOf(next))).rejects.toMatchObject({ code: "unavailable" });
    proxy.refuse();
    await waiting;
  });

  test("a node that stays down makes its own plants unavailable, and no others", async () => {
    const { database, store, citus, ones, twos } = await openFresh({ retryLimitMs: 100 });
    await citus.fail(1, "XX000");
    const results = await Promise.allSettled([...ones, ...twos].map((p) => store.create(p)));
    const failed = results.filter((result) => result.status === "rejected");
    expect(failed).toHaveLength(ones.length);
    for (const { reason } of failed) expect(reason).toMatchObject({ code: "unavailable" });
    const kept = (await readPlants(server.current, database)).map(({ id }) => id);
    expect(new Set(kept)).toEqual(new Set(twos.map(({ id }) => id)));
    expect(store.obstacle()).toBeUndefined();
  });

  test("with all nodes down, the store is unreachable until one is back", async () => {
    const { store, citus, ones, twos } = await openFresh();
    await citus.fail(1, "08006");
    await citus.fail(2, "08006");
    const creating = Promise.all([...ones, ...twos].map((plant) => store.create(plant)));
    await untilObstacle(store, "unreachable");
    await citus.mend();
    await creating;
    expect(store.obstacle()).toBeUndefined();
  });

  test("closing finishes the plants that wait for a node", async () => {
    const { database, store, citus, ones } = await openFresh();
    await citus.fail(1, "XX000");
    const creating = Promise.all(ones.map((plant) => store.create(plant)));
    const closing = store.close();
    await citus.mend();
    await Promise.all([creating, closing]);
    expect(await readPlants(server.current, database)).toHaveLength(ones.length);
  });

  test("a node that is down does not prevent opening the store; check warns", async () => {
    const { url, citus } = await openDatabase(server.current);
    // The coordinator's default does not matter, because statements set their own.
    await citus.answer({ c: "on on off", w1: safe, w2: undefined });
    await (await openTestStore(url)).close();
    const findings = await findingsOf(url);
    const found = findings.filter(({ subject }) => subject === "nodes");
    expect(found.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      "warn: the coordinator cannot reach w2:5432",
      "ok: 2 have safe settings",
      expect.stringMatching(/^warn: c:5432 is not written to directly: cannot connect to c:5432/),
      "warn: the node with the group 1 has no metadata, so it accepts no plants directly",
      "warn: the node with the group 2 has no metadata, so it accepts no plants directly",
    ]);
  });

  test.each<[string, string, RegExp]>([
    ["the table is not distributed", "DELETE FROM pg_dist_shard", /run SELECT create_distributed/],
    [
      "there are no workers",
      "UPDATE pg_dist_placement SET groupid = 0",
      /add workers with citus_add/,
    ],
  ])("%s: check warns", async (_, change, text) => {
    const { database, url, citus } = await openDatabase(server.current);
    await citus.answer({ c: safe });
    await server.current.query(change, database);
    const findings = await findingsOf(url);
    expect(findings.filter(({ level }) => level === "warn").map((one) => one.text)).toContainEqual(
      expect.stringMatching(text),
    );
  });

  test("a role that may not read all settings can inspect nodes", async () => {
    const { database, citus } = await openDatabase(server.current);
    const role = await server.current.createRole();
    await server.current.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`, database);
    await citus.open(1, server.current.port);
    const address = parseAddress(server.current.url(database, role).slice("postgres:".length));
    const engine = await openEngine(address, quickLimits);
    await engine.inspect();
    await engine.close();
  });

  test("a node whose settings change while the store is open", async () => {
    const { store, citus } = await openFresh();
    await citus.answer({ w1: safe, w2: "on on off" });
    await untilObstacle(store, "not_durable");
    await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
    await citus.answer({ w1: safe, w2: safe });
    await untilObstacle(store, undefined);
  });
});

describe.skipIf(!hasPostgres)("on a server with safe settings", () => {
  const server = useServer();

  test.each<[string, Record<string, string | undefined>, RegExp]>([
    ["fsync=off", { c: safe, w1: safe, w2: "off on on" }, /the node w2:5432 .*fsync=off/],
    ["full_page_writes=off", { w1: "on off on", w2: safe }, /node w1:5432 .*full_page_writes=off/],
    ["synchronous_commit=off", { w1: safe, w2: "on on off" }, /node w2:5432 .*synchronous_commit/],
    ["fsync=off, another away", { w1: undefined, w2: "off on on" }, /w2:5432 .*fsync=off/],
  ])("a node with %s is rejected, at startup and by check", async (_, answers, message) => {
    const { url, citus } = await openDatabase(server.current);
    await citus.answer(answers);
    const opening = openTestStore(url);
    await expect(opening).rejects.toMatchObject({ code: "not_durable" });
    await expect(opening).rejects.toThrow(message);
    const findings = await findingsOf(url);
    expect(findings.at(-1)).toMatchObject({ level: "fail", subject: "nodes" });
    expect(findings.at(-1)?.text).toMatch(message);
  });
});

describe.skipIf(!hasPostgres)("with a worker of its own", () => {
  const coordinator = sharedServer;
  const worker = useServer({ settings: withoutSync });

  /** Plants of node 1 go to the worker. */
  async function openBoth() {
    const { database, url, citus } = await openDatabase(coordinator.current);
    await worker.current.query(`CREATE DATABASE ${database}`);
    await (await openTestStore(worker.current.url(database))).close();
    await fakeCitus(worker.current, database, 1);
    await citus.open(1, worker.current.port);
    const plants = (await citus.idsOf(1, 40)).map(plantOf);
    return { database, url, citus, plants };
  }

  const isOnWorker = async (database: string, { id }: NewPlant) =>
    (await readPlants(worker.current, database)).some((plant) => plant.id === id);

  test("a plant that a worker has while the table is replaced is confirmed in the new table", async () => {
    const { database, url, plants } = await openBoth();
    const [first, second] = plants as [NewPlant, NewPlant];
    const store = await openTestStore(url);
    await store.create(first);
    expect(await readPlants(coordinator.current, database)).toEqual([]);
    await using replacing = await begin(coordinator.current.url(database), "EXCLUSIVE");
    let isConfirmed = false;
    const creating = store.create(second).then(() => {
      isConfirmed = true;
    });
    while (!(await isOnWorker(database, second)));
    await replacing.query(`
      ALTER TABLE plants RENAME TO before; CREATE TABLE plants (LIKE before INCLUDING ALL);
      UPDATE pg_dist_shard SET logicalrelid = 'plants'::regclass`);
    expect(isConfirmed).toBe(false);
    await replacing.query("COMMIT");
    await creating;
    expect(await readPlants(coordinator.current, database)).toEqual([second]);
  });

  test("a host that the cluster has replaced gets no more plants, although it is up", async () => {
    const { database, url, citus, plants } = await openBoth();
    const store = await openTestStore(url);
    await store.create(plants[0] as NewPlant);
    expect(await readPlants(coordinator.current, database)).toEqual([]);
    await citus.open(1, coordinator.current.port);
    for (const plant of plants.slice(1)) await store.create(plant);
    expect(await readPlants(coordinator.current, database)).toHaveLength(plants.length - 1);
  });

  test("without the coordinator, workers store plants unless somebody may be copying them", async () => {
    const { database, url, plants } = await openBoth();
    const [first, second, third] = plants as [NewPlant, NewPlant, NewPlant];
    await using proxy = await openTcpProxy(coordinator.current.port, "none");
    const unreachable: (readonly string[])[] = [];
    const store = await openTestStore(
      through(proxy, url),
      {},
      {
        onUnreachable: (nodes) => unreachable.push(nodes),
      },
    );
    await store.create(first);
    proxy.refuse();
    await store.create(second);
    expect(store.obstacle()).toBeUndefined();
    await using copying = await begin(worker.current.url(database), "ACCESS SHARE");
    let isConfirmed = false;
    const creating = store.create(third).then(() => {
      isConfirmed = true;
    });
    while (!(await isOnWorker(database, third)));
    expect(isConfirmed).toBe(false);
    await copying.query("COMMIT");
    await creating;
    expect(await readPlants(worker.current, database)).toHaveLength(3);
    expect(unreachable.at(-1)?.at(0)).toMatch(/^c:/);
  });
});

/** A transaction that has locked plants. */
async function begin(url: string, mode: string) {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE plants IN ${mode} MODE`);
  return {
    query: (sql: string) => client.query(sql),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function openDatabase(server: PostgresDatabases) {
  const database = await server.createDatabase();
  const url = server.url(database);
  await (await openTestStore(url)).close();
  return { database, url, citus: await fakeCitus(server, database) };
}

async function findingsOf(url: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of checkStore(url)) findings.push(finding);
  return findings;
}
