import { describe, expect, test } from "vitest";
import { migrateStore } from "../../../src/store/open.ts";
import type { CommitObserver } from "../../../src/store/options.ts";
import { hasPostgres, type PostgresServer } from "../../support/postgres-server.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf } from "../plant-of.ts";
import { openTestStore, readPlants, untilReady, useServer, withoutSync } from "./fresh.ts";

const readOnly = "default_transaction_read_only";

describe.skipIf(!hasPostgres)("of several hosts", () => {
  const one = useServer({ settings: withoutSync });
  const two = useServer({ settings: withoutSync });

  /** A database of the same name on both. */
  async function createBoth(): Promise<string> {
    for (const { current } of [one, two]) await current.set(readOnly, "off");
    const [name, other] = await Promise.all([
      one.current.createDatabase(),
      two.current.createDatabase(),
    ]);
    expect(other).toBe(name);
    return name;
  }

  function urlOf(ports: readonly number[], database: string, ...params: string[]): string {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
    return one.current.url(database, "postgres", ...params).replace(/127[^/]*/, hosts);
  }

  const idsIn = async (server: PostgresServer, database: string) =>
    (await readPlants(server, database)).map(({ id }) => id);

  test("the first that accepts writes is used", async () => {
    const database = await createBoth();
    const url = urlOf([one.current.port, two.current.port], database);
    const store = await openTestStore(url);
    await store.create(plantOf(1n));
    expect(await idsIn(one.current, database)).toEqual([1n]);
  });

  test.each([[[]], [["target_session_attrs=read-write"]]])(
    "one that is read-only or does not answer is skipped, with %j",
    async (params) => {
      const database = await createBoth();
      await one.current.set(readOnly, "on");
      await using proxy = await openTcpProxy(one.current.port, "none");
      proxy.refuse();
      const ports = [proxy.port, one.current.port, two.current.port];
      const store = await openTestStore(urlOf(ports, database, ...params));
      await store.create(plantOf(1n));
      expect(await idsIn(two.current, database)).toEqual([1n]);
    },
  );

  test("a primary that becomes read-only while in use is replaced by the new one", async () => {
    const database = await createBoth();
    const url = urlOf([one.current.port, two.current.port], database);
    // As on a standby.
    await migrateStore(two.current.url(database));
    await two.current.set(readOnly, "on");
    const store = await openTestStore(url);
    const plants = Array.from({ length: 3000 }, (_, id) => plantOf(BigInt(id)));
    await Promise.all(plants.slice(0, 1500).map((plant) => store.create(plant)));

    // Open sessions keep their connection and get SQLSTATE 25006.
    await one.current.set(readOnly, "on");
    const creating = Promise.all(plants.slice(1500).map((plant) => store.create(plant)));
    await two.current.set(readOnly, "off");
    await creating;
    expect(await idsIn(one.current, database)).toEqual(plants.slice(0, 1500).map(({ id }) => id));
    expect(await idsIn(two.current, database)).toEqual(plants.slice(1500).map(({ id }) => id));
  });

  test("one failure on a primary that became read-only is enough to leave all its sessions", async () => {
    const database = await createBoth();
    await migrateStore(two.current.url(database));
    await two.current.set(readOnly, "on");
    let failed = 0;
    const observer: CommitObserver = {
      queueChanged() {},
      commitEnded({ isFailed }) {
        if (isFailed) failed++;
      },
    };
    const url = urlOf([one.current.port, two.current.port], database);
    const store = await openTestStore(url, {}, { observer });
    const plants = Array.from({ length: 1500 }, (_, id) => plantOf(BigInt(id)));
    await Promise.all(plants.map((plant) => store.create(plant)));
    await one.current.set(readOnly, "on");
    await two.current.set(readOnly, "off");
    await store.create(plantOf(-1n));
    expect(failed).toBe(1);
  });

  test("a primary that hangs is left long before a statement would be cancelled", async () => {
    const database = await createBoth();
    await migrateStore(two.current.url(database));
    await two.current.set(readOnly, "on");
    await using proxy = await openTcpProxy(one.current.port, "none");
    const store = await openTestStore(urlOf([proxy.port, two.current.port], database), {
      statementTimeoutMs: 600_000,
      connectTimeoutMs: 600_000,
      aliveIntervalMs: 100,
      nextHostDelayMs: 100,
    });
    await store.create(plantOf(1n));
    proxy.hang();
    await two.current.set(readOnly, "off");
    await store.create(plantOf(2n));
    expect(await idsIn(two.current, database)).toEqual([2n]);
    await store.close();
    proxy.refuse();
  });

  test("if none accepts writes: unavailable; opening fails and says why", async () => {
    const database = await createBoth();
    const url = urlOf([one.current.port, two.current.port], database);
    const store = await openTestStore(url, { retryLimitMs: 300 });
    await one.current.set(readOnly, "on");
    await two.current.set(readOnly, "on");
    await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
    const opening = openTestStore(url);
    await expect(opening).rejects.toMatchObject({ code: "inaccessible" });
    await expect(opening).rejects.toThrow(/is read-only/);
    await one.current.set(readOnly, "off");
    await untilReady(store);
    await store.create(plantOf(1n));
  });
});
