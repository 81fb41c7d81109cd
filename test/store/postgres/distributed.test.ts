/** A table that Citus has distributed, as far as plain PostgreSQL can simulate one. */
import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { collect } from "../../../packages/gateway/test/support/collect.ts";
import type { NewPlant, PlantStore } from "../../../src/plant.ts";
import type { PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { hashOf } from "../../../src/store/postgres/placement.ts";
import { checkStore } from "../../support/open-store.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { fakeCitus } from "./fake-citus.ts";
import {
  openDatabase,
  openTestEngine,
  openTestStore,
  readPlants,
  through,
  until,
  useServer,
  withoutSync,
} from "./fresh.ts";

/** Not what looks whether inserts are allowed. */
const insertOfPlants = "INSERT INTO public.plants AS kept (id, name, tag) VALUES";

const safe = "on on on";
const hour = 3_600_000;

async function openCitus(server: PostgresDatabases) {
  const database = await openDatabase(server);
  await (await openTestStore(database.url)).close();
  return { ...database, citus: await fakeCitus(server, database.database) };
}

/** Creates plants, and counts those that are confirmed. */
function startCreating(store: PlantStore, plants: readonly NewPlant[]) {
  let confirmed = 0;
  const all = plants.map((plant) => store.create(plant).then(() => confirmed++));
  return { confirmed: () => confirmed, done: Promise.all(all) };
}

const findingsOf = (url: string) => collect(checkStore(url));

describe.skipIf(!hasPostgres)("on the shared server", () => {
  const server = sharedServer;

  /** Node 1 accepts statements directly, through a proxy. */
  async function openBehindProxy(limits: Partial<PostgresLimits> = {}) {
    const { url, citus, kept } = await openCitus(server.current);
    const proxy = await openTcpProxy(server.current.port, insertOfPlants);
    await citus.open(1, proxy.port);
    const store = await openTestStore(url, limits);
    // Before the store, which would wait for what hangs.
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const [ones, twos] = [await citus.plantsOf(1, 100), await citus.plantsOf(2, 100)];
    return { store, proxy, ones, twos, kept };
  }

  test("the node of a plant is computed as in Citus", async () => {
    const ids = Array.from({ length: 500 }, () => randomBytes(8).readBigInt64BE());
    ids.push(0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n));
    const sql = `SELECT hashint8(id) AS hash FROM unnest('{${ids}}'::bigint[]) AS id`;
    const rows = await server.current.query(sql);
    expect(ids.map(hashOf)).toEqual(rows.map(({ hash }) => hash));
  });

  test("a node that hangs delays no plant of another", async () => {
    const limits = { statementTimeoutMs: hour, aliveIntervalMs: hour, connectTimeoutMs: hour };
    const { store, proxy, ones, twos } = await openBehindProxy({ ...limits, retryLimitMs: hour });
    proxy.hang();
    const waiting = startCreating(store, ones);
    for (const plant of twos) await store.create(plant);
    expect(waiting.confirmed()).toBe(0);
    expect(store.obstacle()).toBeUndefined();
    proxy.refuse();
    await waiting.done;
  });

  test("plants of a node that hangs are not retried, and the next go through the coordinator", async () => {
    const limits = { retryLimitMs: hour, aliveIntervalMs: 100 };
    const { store, proxy, ones } = await openBehindProxy(limits);
    const [first, next] = ones as [NewPlant, NewPlant];
    proxy.hang();
    await expect(store.create(first)).rejects.toMatchObject({ code: "unavailable" });
    await store.create(next);
    proxy.allow();
    await store.create(first);
  });

  test("a node that is down does not prevent opening the store; check warns", async () => {
    const { url, citus, sessions } = await openCitus(server.current);
    await citus.open(1, server.current.port);
    const node = `127.0.0.1:${server.current.port}`;
    // The coordinator's default does not matter, because statements set their own.
    await citus.answer({ c: "on on off minimal", "127.0.0.1": `${safe} replica x`, w2: undefined });
    await (await openTestStore(url)).close();
    const unable = `warn nodes: ${node} cannot move shards while plants are created`;
    const findings = (await findingsOf(url)).map((it) => `${it.level} ${it.subject}: ${it.text}`);
    expect(findings).toEqual([
      `ok connection: ${node} accepts writes, in UTF8`,
      expect.stringMatching(/^ok PostgreSQL: \d+\.\d/),
      expect.stringMatching(/^warn settings: fsync is off, as allow_unsafe accepts/),
      "ok settings: full_page_writes is on",
      `${unable}; set wal_level=logical there`,
      `${unable}; add citus to output_plugin_libraries there`,
      "warn nodes: the coordinator cannot reach w2:5432",
      "ok nodes: 2 have safe settings",
      expect.stringMatching(/^ok schema: version (\d+) of \1$/),
      "ok table: the table plants has its columns, is logged and can be written",
      expect.stringMatching(/^warn nodes: c:5432 is not written to directly: cannot connect to c:/),
      `ok nodes: ${node} can be reached directly`,
      "warn nodes: the node of group 2 has no metadata, so it accepts no plants directly",
    ]);
    await until("the end of all sessions", async () => (await sessions()).length === 0);
  });

  test.each([
    ["the table is not distributed", "DELETE FROM pg_dist_shard", [/create_distributed_table/]],
    ["there are no workers", "UPDATE pg_dist_placement SET groupid = 0", [/add_node/, /group 0/]],
  ])("%s: check warns", async (_, change, texts) => {
    const { url, citus, query } = await openCitus(server.current);
    await citus.answer({ c: safe, w1: `${safe} logical x,citus`, w2: safe });
    await query(change);
    const warnings = (await findingsOf(url)).filter(({ level }) => level === "warn").slice(1);
    expect(warnings).toMatchObject(texts.map((text) => ({ text: expect.stringMatching(text) })));
  });

  test("a role that may not read all settings can inspect nodes", async () => {
    const { database, query, citus } = await openCitus(server.current);
    const role = await server.current.createRole();
    await query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    await citus.open(1, server.current.port);
    const engine = await openTestEngine(server.current.url(database, role));
    await engine.inspect();
    await engine.close();
  });
});

describe.skipIf(!hasPostgres)("with a worker of its own", () => {
  const coordinator = sharedServer;
  const worker = useServer({ settings: withoutSync });

  /** Plants of node 1 go to the worker. */
  async function openBoth() {
    const { database, url, citus, kept } = await openCitus(coordinator.current);
    await worker.current.query(`CREATE DATABASE ${database}`);
    await (await openTestStore(worker.current.url(database))).close();
    await fakeCitus(worker.current, database, 1);
    await citus.open(1, worker.current.port);
    const plants = await citus.plantsOf(1, 40);
    const [first, second, third] = plants as [NewPlant, NewPlant, NewPlant];
    const keptByWorker = () => readPlants(worker.current, database);
    const isOnWorker = async (plant: NewPlant) =>
      (await keptByWorker()).some(({ id }) => id === plant.id);
    return {
      ...{ database, url, citus, kept, keptByWorker, plants, first, second, third },
      untilOnWorker: (plant: NewPlant) => until("the plant", () => isOnWorker(plant)),
    };
  }

  test("a plant that a worker has while its table or metadata is replaced is confirmed in the new table", async () => {
    const { url, kept, first, second, third, untilOnWorker } = await openBoth();
    const store = await openTestStore(url);
    await store.create(first);
    expect(await kept()).toEqual([]);
    await using replacing = await openPostgresClient(url);
    await replacing.query("BEGIN; LOCK TABLE plants IN EXCLUSIVE MODE");
    const creating = startCreating(store, [second]);
    await untilOnWorker(second);
    await replacing.query(`
      ALTER TABLE plants RENAME TO before; CREATE TABLE plants (LIKE before INCLUDING ALL);
      UPDATE pg_dist_shard SET logicalrelid = 'plants'::regclass`);
    expect(creating.confirmed()).toBe(0);
    await replacing.query("COMMIT");
    await creating.done;
    await replacing.query("UPDATE pg_dist_node SET metadatasynced = false");
    await store.create(third);
    expect(await kept()).toEqual([second, third]);
  });

  test.each(["refuse", "hang"] as const)(
    "without the coordinator (%s), workers store plants unless somebody may be copying them",
    async (how) => {
      const { database, url, keptByWorker, plants, untilOnWorker } = await openBoth();
      const [first, second, third, fourth] = plants as [NewPlant, NewPlant, NewPlant, NewPlant];
      await using proxy = await openTcpProxy(coordinator.current.port, "none");
      const unreachable: (readonly string[])[] = [];
      const onUnreachable = (nodes: readonly string[]) => void unreachable.push(nodes);
      const limits = { aliveIntervalMs: 500, connectTimeoutMs: 1000 };
      const store = await openTestStore(through(proxy, url), limits, { onUnreachable });
      await store.create(first);
      proxy[how]();
      await store.create(second);
      expect(store.obstacle()).toBeUndefined();
      const ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store'";
      const [own] = await worker.current.query(ours, database);
      await using copying = await openPostgresClient(worker.current.url(database));
      /** As Citus does for a process of a node: 1 is the coordinator, 2 this worker. */
      const lockFor = (node: number) =>
        copying.query(`
          SET application_name = 'citus_internal gpid=${node * 1e10 + Number(own?.["pid"])}';
          BEGIN; LOCK TABLE plants_0 IN ACCESS SHARE MODE`);
      await lockFor(2);
      await store.create(third);
      await copying.query("COMMIT");
      await lockFor(1);
      const creating = startCreating(store, [fourth]);
      await untilOnWorker(fourth);
      expect(creating.confirmed()).toBe(0);
      await copying.query("COMMIT");
      await creating.done;
      expect(await keptByWorker()).toHaveLength(4);
      expect(unreachable.at(-1)?.at(0)).toMatch(/^c:/);
    },
  );
});
