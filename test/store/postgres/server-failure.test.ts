import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import type { NewPlant, PlantStore } from "../../../src/plant.ts";
import { failureCode } from "../../../src/store/postgres/failure.ts";
import type { PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { plantOf } from "../plant-of.ts";
import { expectKept } from "../suite.ts";
import { openTestStore, readPlants, useServer, withoutSync } from "./fresh.ts";

describe.skipIf(!hasPostgres)("on its own server", () => {
  const server = useServer({ settings: withoutSync });

  async function openFresh(limits: Partial<PostgresLimits> = {}) {
    const database = await server.current.createDatabase();
    const store = await openTestStore(server.current.url(database), limits);
    return { database, store, kept: () => readPlants(server.current, database) };
  }

  /** One of each: created, created again, rejected. */
  const first: NewPlant = { id: 1n, name: "Fern", tag: undefined };
  const other: NewPlant = { id: 1n, name: "Fern", tag: "" };

  test("terminating sessions only costs time", async () => {
    const { database, store, kept } = await openFresh();
    const plants = Array.from({ length: 3000 }, (_, id) => plantOf(BigInt(id)));
    let isOver = false;
    let progress = Promise.withResolvers<void>();
    const creating = (async () => {
      for (let begin = 0; begin < plants.length; begin += 100) {
        await Promise.all(plants.slice(begin, begin + 100).map((plant) => store.create(plant)));
        progress.resolve();
        progress = Promise.withResolvers();
      }
    })().finally(() => {
      isOver = true;
      progress.resolve();
    });
    let terminated = 0;
    while (!isOver) {
      const rows = await server.current.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
      );
      terminated += rows.length;
      // Otherwise a slow machine would open sessions more slowly than they are terminated.
      if (terminated > 0) await progress.promise;
    }
    await creating;
    expect(terminated).toBeGreaterThan(0);
    expect(await kept()).toEqual(plants);
  });

  test.each(["fast", "immediate"] as const)(
    "a restart (%s) under load loses nothing that was confirmed",
    async (how) => {
      const { store, kept } = await openFresh();
      const confirmed: NewPlant[] = [];
      const failures = new Set<unknown>();
      let isOver = false;
      const enough = Promise.withResolvers<void>();
      async function callUntilOver(caller: number): Promise<void> {
        for (let id = BigInt(caller) * 1_000_000n; !isOver; id++) {
          const plant = plantOf(id);
          await createAtLast(store, plant, failures);
          confirmed.push(plant);
          if (confirmed.length === 300) enough.resolve();
        }
      }
      const calling = Promise.all(Array.from({ length: 20 }, (_, caller) => callUntilOver(caller)));
      await within("some load", enough.promise);
      await server.current.stop(how);
      const before = confirmed.length;
      await server.current.start();
      isOver = true;
      await within("the end of the load", calling);
      expect([...failures].filter((code) => code !== "unavailable")).toEqual([]);
      expect(confirmed.length).toBeGreaterThan(before);
      const byId = new Map((await kept()).map((plant) => [plant.id, plant]));
      for (const plant of confirmed) expect(byId.get(plant.id)).toEqual(plant);
      await expectKept(store, plantOf(0n));
    },
  );

  test("a server with few connections left is used with those it grants", async () => {
    const database = await server.current.createDatabase();
    const role = await server.current.createRole("CONNECTION LIMIT 2");
    await server.current.query(`GRANT ALL ON SCHEMA public TO ${role}`, database);
    const url = server.current.url(database, role, "pool_max_conns=8");
    const store = await openTestStore(url);
    const plants = Array.from({ length: 4000 }, (_, id) => plantOf(BigInt(id)));
    await Promise.all(plants.map((plant) => store.create(plant)));
    expect(await readPlants(server.current, database)).toEqual(plants);
  });

  test("a row that stays locked: unavailable, then back to normal", async () => {
    const { database, store, kept } = await openFresh({ retryLimitMs: 2000 });
    await using holder = await openPostgresClient(server.current.url(database));
    await holder.query("BEGIN; INSERT INTO plants VALUES (1, 'held', NULL)");
    await expect(store.create(first)).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: "57014" },
    });
    expect(store.obstacle()).toBeUndefined();
    await holder.query("ROLLBACK");
    await createAtLast(store, first);
    expect(await kept()).toEqual([first]);
  });

  test("a row that is locked for a moment: nobody notices, and its owner wins", async () => {
    const { database, store, kept } = await openFresh();
    await using holder = await openPostgresClient(server.current.url(database));
    await holder.query("BEGIN; INSERT INTO plants VALUES (1, 'held', NULL)");
    const creating = store.create(first);
    creating.catch(() => {});
    await untilWaiting(database, "Lock");
    await holder.query("COMMIT");
    await expect(creating).rejects.toMatchObject({ code: "id_taken" });
    await expect(kept()).resolves.toMatchObject([{ name: "held" }]);
  });

  test("COMMIT itself fails: none of its plants is confirmed or stored", async () => {
    const { database, store, kept } = await openFresh();
    await server.current.query(
      `CREATE TABLE parents (id int PRIMARY KEY);
       CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
       CREATE FUNCTION orphan() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN INSERT INTO children VALUES (1); RETURN NEW; END';
       CREATE TRIGGER orphan AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION orphan()`,
      database,
    );
    const results = await Promise.allSettled([store.create(first), store.create(plantOf(2n))]);
    for (const result of results) {
      expect(result).toMatchObject({ reason: { code: "unavailable", cause: { code: "23503" } } });
    }
    expect(await kept()).toEqual([]);
    await server.current.query("DROP TRIGGER orphan ON plants", database);
    await store.create(first);
    expect(await kept()).toEqual([first]);
  });

  test("a missing table: unavailable, then back to normal", async () => {
    const { database, store } = await openFresh();
    await server.current.query("ALTER TABLE plants RENAME TO elsewhere", database);
    await expect(store.create(first)).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: "42P01" },
    });
    await server.current.query("ALTER TABLE elsewhere RENAME TO plants", database);
    await store.create(first);
  });

  test("deleting rows never makes a plant's owner lose its id", async () => {
    const { database, store } = await openFresh();
    let isOver = false;
    const deleting = (async () => {
      while (!isOver) await server.current.query("DELETE FROM plants", database);
    })();
    for (let round = 0; round < 100; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, id) => store.create(plantOf(BigInt(id)))));
    }
    isOver = true;
    await deleting;
  });

  describe("with a synchronous standby that is down", () => {
    async function loseStandby(): Promise<void> {
      onTestFinished(() => server.current.set("synchronous_standby_names", ""));
      await server.current.set("synchronous_standby_names", "away");
    }

    test("a plant on only one machine is not confirmed, and no statement stays behind", async () => {
      const { database, store, kept } = await openFresh({ retryLimitMs: 2000 });
      await loseStandby();
      await expect(store.create(first)).rejects.toMatchObject({ code: "unavailable" });
      await within("the end of all statements", untilNobodyWaits(database));
      expect(await kept()).toEqual([first]);
      // It is visible by now, but no safer: the same call must not confirm it.
      await expect(store.create(first)).rejects.toMatchObject({ code: "unavailable" });
      await server.current.set("synchronous_standby_names", "");
      await createAtLast(store, first);
      await expect(store.create(other)).rejects.toMatchObject({ code: "id_taken" });
    });

    test("a wait that an operator cancels is not a success", async () => {
      const { database, kept } = await openFresh();
      // Only the warning shows it, and a role may have it hidden.
      await server.current.query(
        `ALTER ROLE postgres IN DATABASE ${database} SET client_min_messages = error`,
      );
      const url = server.current.url(database);
      const store = await openTestStore(url, { statementTimeoutMs: 60_000 });
      await loseStandby();
      let isSettled = false;
      const creating = store.create(first).finally(() => {
        isSettled = true;
      });
      creating.catch(() => {});
      await untilWaiting(database, "IPC");
      await server.current.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
      );
      await within("the row being visible", untilRows(kept, 1));
      // The second attempt, which waits for the same thing.
      await untilWaiting(database, "IPC");
      expect(isSettled).toBe(false);
      await server.current.set("synchronous_standby_names", "");
      await creating;
    });
  });

  async function untilWaiting(database: string, what: "Lock" | "IPC"): Promise<void> {
    const count = async () =>
      await server.current.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = '${what}' AND state = 'active'`,
      );
    await within(
      `a session that waits for ${what}`,
      (async () => {
        while ((await count()).length === 0);
      })(),
    );
  }

  async function untilNobodyWaits(database: string): Promise<void> {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND state = 'active' AND wait_event_type IS NOT NULL`;
    while ((await server.current.query(sql)).length > 0);
  }
});

async function isCreated(
  store: PlantStore,
  plant: NewPlant,
  failures: Set<unknown>,
): Promise<boolean> {
  try {
    await store.create(plant);
    return true;
  } catch (error) {
    failures.add(error instanceof Error && "code" in error ? error.code : failureCode(error));
    return false;
  }
}

/** Retries like a client without an answer, until it gets one. */
async function createAtLast(store: PlantStore, plant: NewPlant, failures = new Set<unknown>()) {
  while (!(await isCreated(store, plant, failures)));
}

async function untilRows(kept: () => Promise<readonly NewPlant[]>, count: number): Promise<void> {
  while ((await kept()).length < count);
}
