/** Changes to a PostgreSQL server in use: the store detects the obstacle, and its end. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { Obstacle, PlantStore } from "../../../src/plant.ts";
import { BatchedStore } from "../../../src/store/batched-store.ts";
import { defaultLimits } from "../../../src/store/options.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { openEngine } from "../../../src/store/postgres/open.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { plantOf } from "../plant-of.ts";
import { untilObstacle } from "../until-obstacle.ts";
import { openTestStore, quickLimits, readPlants, useServer } from "./fresh.ts";

/** A role with only the permissions that serving needs. */
const role = { name: "gardener", password: "soil" };

describe.skipIf(!hasPostgres)("on its own server", () => {
  const server = useServer();

  async function openFresh() {
    const database = await server.current.createDatabase();
    const url = server.current.url(database);
    await (await openTestStore(url)).close();
    const operate = (sql: string) => server.current.query(sql, database);
    await operate(`DO $$ BEGIN CREATE ROLE ${role.name} LOGIN PASSWORD '${role.password}';
      EXCEPTION WHEN duplicate_object THEN END $$`);
    await operate(`GRANT SELECT, INSERT, UPDATE ON plants TO ${role.name}`);
    await operate(`GRANT SELECT ON plant_store_migrations TO ${role.name}`);
    const own = new URL(url);
    Object.assign(own, { username: role.name, password: role.password });
    const store = await openTestStore(own.href, { inspectIntervalMs: 0, retryLimitMs: 300 });
    await store.create(plantOf(1n));
    return { database, url, store, operate };
  }

  async function expectRefused(store: PlantStore): Promise<void> {
    await expect(store.create(plantOf(2n))).rejects.toMatchObject({ code: "unavailable" });
  }

  test.each<[Obstacle, string, string]>([
    [
      "forbidden",
      `REVOKE INSERT ON plants FROM ${role.name}`,
      `GRANT INSERT ON plants TO ${role.name}`,
    ],
    [
      "forbidden",
      `REVOKE UPDATE ON plants FROM ${role.name}`,
      `GRANT UPDATE ON plants TO ${role.name}`,
    ],
    ["not_durable", "ALTER TABLE plants SET UNLOGGED", "ALTER TABLE plants SET LOGGED"],
    [
      "damaged",
      "ALTER TABLE plants ALTER name TYPE varchar(9)",
      "ALTER TABLE plants ALTER name TYPE text",
    ],
    ["damaged", "ALTER TABLE plants RENAME TO trees", "ALTER TABLE trees RENAME TO plants"],
    [
      "damaged",
      "ALTER TABLE plants RENAME CONSTRAINT plants_pkey TO old; ALTER TABLE plants DROP CONSTRAINT old",
      "ALTER TABLE plants ADD PRIMARY KEY (id)",
    ],
  ])("%s: %s", async (obstacle, harm, mend) => {
    const { store, operate, database } = await openFresh();
    await operate(harm);
    await expectRefused(store);
    await untilObstacle(store, obstacle);
    await expectRefused(store);
    await operate(mend);
    await untilObstacle(store, undefined);
    await store.create(plantOf(2n));
    // A probe leaves nothing behind.
    expect(await readPlants(server.current, database)).toEqual([plantOf(1n), plantOf(2n)]);
  });

  test.each(["fsync", "full_page_writes"])("%s that is turned off by a reload", async (name) => {
    const { store } = await openFresh();
    onTestFinished(() => server.current.set(name, "on"));
    await server.current.set(name, "off");
    // No plant arrives: the timer detects it.
    await untilObstacle(store, "not_durable");
    await expectRefused(store);
    await server.current.set(name, "on");
    await untilObstacle(store, undefined);
    await store.create(plantOf(2n));
  });

  test("a setting turned off by a reload is detected before a write, when an inspection is due", async () => {
    const { store, operate } = await openFresh();
    await operate("ALTER TABLE plants SET UNLOGGED");
    await expect(store.create(plantOf(2n))).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: "not_durable" },
    });
    expect(await operate("SELECT id FROM plants")).toEqual([{ id: "1" }]);
  });

  test("a locked table, until it is unlocked", async () => {
    const { store, url } = await openFresh();
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; LOCK TABLE plants");
    await expectRefused(store);
    await untilObstacle(store, "locked");
    await holder.query("ROLLBACK");
    await untilObstacle(store, undefined);
  });

  test("a locked row does not affect other rows", async () => {
    const { store, url } = await openFresh();
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE");
    await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
    await store.create(plantOf(2n));
    expect(store.obstacle()).toBeUndefined();
  });

  test("checks and commits together stay within the connection limit", async () => {
    const database = await server.current.createDatabase();
    const address = parseAddress(
      `${server.current.url(database)}?pool_max_conns=1`.slice("postgres:".length),
    );
    const engine = await openEngine(address, { ...quickLimits, inspectIntervalMs: 0 });
    const store = new BatchedStore(engine, defaultLimits);
    onTestFinished(() => store.close());
    const work = Array.from({ length: 20 }, (_, id) => [
      store.create(plantOf(BigInt(id))),
      engine.inspect(),
      engine.probe(),
    ]);
    await Promise.all(work.flat());
    const count = await server.current.query(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    expect(count).toEqual([{ count: 1 }]);
  });
});
