import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { EndedCommit } from "../../../src/store/options.ts";
import { findTimeline } from "../../../src/store/postgres/settings.ts";
import { migrateStore } from "../../support/open-store.ts";
import { findPostgres } from "../../support/postgres-installation.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { untilObstacle } from "../suite.ts";
import { openTestStore, readPlants, until, useServer, withoutSync } from "./fresh.ts";

describe.skipIf(findPostgres().length === 0)("of several hosts", () => {
  const one = useServer({ settings: withoutSync });
  const two = useServer({ settings: withoutSync });

  /** Whether each of them rejects writes, as a standby does. */
  async function setReadOnly(first: "on" | "off", second: "on" | "off"): Promise<void> {
    await one.current.set("default_transaction_read_only", first);
    await two.current.set("default_transaction_read_only", second);
  }

  /** A database of the same name on both. */
  async function createBoth() {
    await setReadOnly("off", "off");
    const database = await one.current.createDatabase();
    expect(await two.current.createDatabase()).toBe(database);
    const urlOf = (ports: readonly number[], ...params: string[]) => {
      const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
      return one.current.url(database, "postgres", ...params).replace(/127[^/]*/, hosts);
    };
    return {
      urlOf,
      url: urlOf([one.current.port, two.current.port]),
      sessions: () => {
        const sql = `SELECT FROM pg_stat_activity WHERE datname = '${database}'`;
        return Promise.all([one, two].map(async (it) => (await it.current.query(sql)).length));
      },
      /** By each of them; nothing without the table. */
      kept: () =>
        Promise.all([one, two].map((it) => readPlants(it.current, database).catch(() => []))),
      /** The second becomes a standby of the first. */
      async makeStandby() {
        await migrateStore(two.current.url(database));
        await setReadOnly("off", "on");
      },
    };
  }

  const patient = { statementTimeoutMs: 600_000, connectTimeoutMs: 600_000 };

  test("the first that accepts writes is used, also while a pooler of another waits", async () => {
    const { urlOf, kept } = await createBoth();
    await using pooler = await openTcpProxy(two.current.port, "server_encoding");
    pooler.interfere = () => "swallow";
    const url = urlOf([one.current.port, pooler.port]);
    await (await openTestStore(url, patient)).create(plantOf(1));
    expect(await kept()).toEqual([[plantOf(1)], []]);
  });

  test("of two that are tried at once, one is left", async () => {
    const { url, sessions } = await createBoth();
    const store = await openTestStore(url, { nextHostDelayMs: 0 });
    await until("the end of a session", async () => (await sessions()).includes(0));
    await store.create(plantOf(1));
  });

  test("one that is read-only or does not answer is skipped", async () => {
    const { urlOf, kept, sessions } = await createBoth();
    await setReadOnly("on", "off");
    await using proxy = await openTcpProxy(one.current.port, "none");
    proxy.refuse();
    const ports = [proxy.port, one.current.port, two.current.port];
    await (await openTestStore(urlOf(ports, "target_session_attrs=read-write"))).create(plantOf(1));
    expect(await kept()).toEqual([[], [plantOf(1)]]);
    await until("the end of its sessions", async () => (await sessions())[0] === 0);
  });

  test("a primary that becomes read-only is replaced: one failure is enough to leave all its sessions", async () => {
    const { url, makeStandby, kept, sessions } = await createBoth();
    await makeStandby();
    const ended: boolean[] = [];
    const commitEnded = ({ isFailed }: EndedCommit) => void ended.push(isFailed);
    const observer = { queueChanged() {}, commitEnded };
    // An inspection would see it before the commit.
    const store = await openTestStore(url, { inspectIntervalMs: 600_000 }, { observer });
    await Promise.all(plantsOf(1500).map((plant) => store.create(plant)));
    // Open sessions keep their connection and get SQLSTATE 25006.
    await setReadOnly("on", "off");
    await store.create(plantOf(1500));
    expect(ended.filter(Boolean)).toHaveLength(1);
    await until("the end of its sessions", async () => (await sessions())[0] === 0);
    expect(await kept()).toEqual([plantsOf(1500), [plantOf(1500)]]);
    await setReadOnly("on", "on");
    const creating = Promise.all(plantsOf(1500, 1501).map((plant) => store.create(plant)));
    await setReadOnly("off", "on");
    await creating;
    expect(await kept()).toEqual([[...plantsOf(1500), ...plantsOf(1500, 1501)], [plantOf(1500)]]);
  });

  test("a primary that hangs is left long before a statement would be cancelled", async () => {
    const { urlOf, makeStandby, kept } = await createBoth();
    await makeStandby();
    await using proxy = await openTcpProxy(one.current.port, "none");
    const limits = { ...patient, aliveIntervalMs: 100, nextHostDelayMs: 100 };
    const url = urlOf([proxy.port, two.current.port], "pool_max_conns=1");
    const store = await openTestStore(url, limits);
    await store.create(plantOf(1));
    proxy.hang();
    await setReadOnly("off", "off");
    const creating = [store.create(plantOf(2))];
    for (let turn = 0; turn < 3; turn++) await nextTurn(); // or both would share a commit
    await Promise.all([...creating, store.create(plantOf(3))]);
    expect(await kept()).toEqual([[plantOf(1)], plantsOf(2, 2)]);
    await store.close();
    proxy.refuse();
  });

  test("if none accepts writes: unavailable; opening fails and says why", async () => {
    const { url } = await createBoth();
    const store = await openTestStore(url, { retryLimitMs: 300 });
    await setReadOnly("on", "on");
    await expect(store.create(plantOf(1))).rejects.toMatchObject({ code: "unavailable" });
    const refused = { code: "inaccessible", message: expect.stringContaining("is read-only") };
    await expect(openTestStore(url)).rejects.toMatchObject(refused);
    await setReadOnly("off", "on");
    await untilObstacle(store);
    await store.create(plantOf(1));
  });

  test.skipIf(!findPostgres()[0]?.hasBaseBackup)("an old primary is never used again", async () => {
    const { urlOf, url, kept } = await createBoth();
    await (await openTestStore(urlOf([one.current.port]))).create(plantOf(1));
    await two.current.follow(one.current);
    const [standby = {}] = await two.current.query(findTimeline);
    expect(Object.values(standby)).toEqual([expect.any(String), true, ""]);
    const store = await openTestStore(url, { retryLimitMs: 300 });
    await two.current.query("SELECT pg_promote()");
    await until("the new primary", async () => {
      await store.create(plantOf(2));
      return (await kept())[1]?.length === 2;
    });
    const ours = "FROM pg_stat_activity WHERE application_name = 'plant-store'";
    await two.current.query(`SELECT pg_terminate_backend(pid) ${ours}`);
    for (const one of [store, await openTestStore(url)]) await one.create(plantOf(3));
    await setReadOnly("off", "on");
    await expect(openTestStore(url)).rejects.toThrow("before a failover");
    await expect(store.create(plantOf(4))).rejects.toThrow("could not confirm");
    await untilObstacle(store, "read_only");
    expect(await kept()).toEqual([plantsOf(2, 1), plantsOf(3, 1)]);
  });
});
