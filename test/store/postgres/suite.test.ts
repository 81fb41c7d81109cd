import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import type { NewPlant } from "../../../src/plant.ts";
import { openStore } from "../../../src/store/open.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { isPostgresGiven, openGivenSchema } from "../../support/store-place.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf } from "../plant-of.ts";
import { storeSuite } from "../suite.ts";
import { openTestStore, readPlants, through, useServer, withoutSync } from "./fresh.ts";

describe.skipIf(!hasPostgres)("on its own server", () => {
  const server = useServer({ settings: withoutSync });

  storeSuite("postgres", async () => {
    if (isPostgresGiven) {
      const { url, [Symbol.asyncDispose]: drop } = await openGivenSchema();
      onTestFinished(drop);
      return () => openStore(url);
    }
    // Creating a schema takes a tenth of the time of creating a database.
    const role = await server.current.createRole();
    await server.current.query(`CREATE SCHEMA AUTHORIZATION ${role}`);
    return () => openStore(server.current.url("postgres", role));
  });

  test("rows are plain and can be read by others while the store is open", async () => {
    const database = await server.current.createDatabase();
    const store = await openTestStore(server.current.url(database));
    const plants: NewPlant[] = [
      { id: -(2n ** 63n), name: "", tag: "" },
      { id: 0n, name: "NULL", tag: "NULL" },
      { id: 9007199254740992n, name: '{a,"b\\\\",}', tag: "{}" },
      { id: 9007199254740993n, name: "\ufeffe\u0301", tag: undefined },
      { id: 2n ** 63n - 1n, name: "\u{1f331}", tag: "O'Hara" },
    ];
    await Promise.all(plants.map((plant) => store.create(plant)));
    expect(await readPlants(server.current, database)).toEqual(plants);
    const [bytes] = await server.current.query(
      "SELECT encode(convert_to(name, 'UTF8'), 'hex') AS hex FROM plants WHERE tag IS NULL",
      database,
    );
    expect(bytes).toEqual({ hex: "efbbbf65cc81" });
  });

  test("plants that arrive together need few statements and connections", async () => {
    const database = await server.current.createDatabase();
    const store = await openTestStore(server.current.url(database));
    const ids = Array.from({ length: 8000 }, (_, id) => BigInt(id));
    await Promise.all(ids.map((id) => store.create(plantOf(id))));
    const [count] = await server.current.query(
      `SELECT count(DISTINCT xmin::text)::int AS transactions FROM plants`,
      database,
    );
    expect(count?.["transactions"]).toBeLessThanOrEqual(20);
    const [sessions] = await server.current.query(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    expect(sessions?.["count"]).toBeLessThanOrEqual(4);
  });

  test("idle connections are closed, except one", async () => {
    const database = await server.current.createDatabase();
    const store = await openTestStore(server.current.url(database), { idleTimeoutMs: 20 });
    const ids = Array.from({ length: 4000 }, (_, id) => BigInt(id));
    await Promise.all(ids.map((id) => store.create(plantOf(id))));
    const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}'`;
    const untilOne = async () => {
      while ((await server.current.query(sql)).length > 1);
    };
    await within("one connection", untilOne());
    expect(await server.current.query(sql)).toHaveLength(1);
    await store.create(plantOf(1n));
  });

  test("the stores of two processes on one database agree on every id", async () => {
    const database = await server.current.createDatabase();
    const stores = await Promise.all(
      [1, 2, 3].map(() => openTestStore(server.current.url(database))),
    );
    const racers = stores.flatMap((store, index) =>
      Array.from({ length: 500 }, (_, id) => {
        const plant = { id: BigInt(id % 100), name: `${index % 2} ${id % 3}`, tag: undefined };
        return { plant, created: store.create(plant).then(Boolean, (error) => error.code) };
      }),
    );
    const results = await Promise.all(
      racers.map(async ({ plant, created }) => ({ plant, result: await created })),
    );
    const kept = new Map(
      (await readPlants(server.current, database)).map((plant) => [plant.id, plant]),
    );
    expect(kept.size).toBe(100);
    for (const { plant, result } of results) {
      expect(result).toBe(kept.get(plant.id)?.name === plant.name ? true : "id_taken");
    }
  });

  test("different defaults of a database, role or server change nothing", async () => {
    const database = await server.current.createDatabase();
    const role = await server.current.createRole();
    await server.current.query(`GRANT ALL ON SCHEMA public TO ${role}`, database);
    const defaults = {
      synchronous_commit: "off",
      array_nulls: "off",
      client_min_messages: "error",
      client_encoding: "LATIN1",
      default_transaction_isolation: "serializable",
      standard_conforming_strings: "off",
      bytea_output: "escape",
      transform_null_equals: "on",
      row_security: "off",
    };
    for (const [name, value] of Object.entries(defaults)) {
      await server.current.query(`ALTER ROLE ${role} SET ${name} = '${value}'`);
    }
    const url = server.current.url(database, role);
    const store = await openTestStore(url);
    onTestFinished(() => store.close());
    const plants: NewPlant[] = Array.from({ length: 300 }, (_, id) => ({
      id: BigInt(id),
      name: "\\ '\u00e9\u{1f331}",
      tag: id % 2 === 0 ? undefined : "NULL",
    }));
    await Promise.all([...plants, ...plants].map((plant) => store.create(plant)));
    await expect(
      store.create({ id: 0n, name: "\\ '\u00e9\u{1f331}", tag: "NULL" }),
    ).rejects.toMatchObject({ code: "id_taken" });
    expect(await readPlants(server.current, database)).toEqual(plants);
  });

  test.each([
    ["off", "on"],
    ["local", "on"],
    ["remote_write", "on"],
    ["remote_apply", "remote_apply"],
  ])("with synchronous_commit=%s everywhere, every commit uses %s", async (around, expected) => {
    const database = await server.current.createDatabase();
    await server.current.query(`ALTER DATABASE ${database} SET synchronous_commit = ${around}`);
    const store = await openTestStore(server.current.url(database));
    await server.current.query(
      `CREATE TABLE seen (id bigint, value text);
       CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN
           INSERT INTO seen VALUES (NEW.id, current_setting('synchronous_commit'));
           RETURN NEW;
         END $$;
       CREATE TRIGGER see AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION see()`,
      database,
    );
    await store.create(plantOf(1n));
    onTestFinished(() => server.current.set("synchronous_commit", "on"));
    await server.current.set("synchronous_commit", "off");
    await store.create(plantOf(2n));
    expect(await server.current.query("SELECT value FROM seen ORDER BY id", database)).toEqual([
      { value: expected },
      { value: expected },
    ]);
  });

  test("text is compared as bytes, even if the column's collation treats it as equal", async () => {
    const database = await server.current.createDatabase();
    const store = await openTestStore(server.current.url(database));
    await server.current.query(
      `CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
       ALTER TABLE plants ALTER name TYPE text COLLATE blind, ALTER tag TYPE text COLLATE blind`,
      database,
    );
    await store.create({ id: 1n, name: "Aloe", tag: "a" });
    for (const other of [
      { id: 1n, name: "aloe", tag: "a" },
      { id: 1n, name: "Aloe", tag: "\u00e1" },
    ]) {
      await expect(store.create(other)).rejects.toMatchObject({ code: "id_taken" });
    }
    await store.create({ id: 1n, name: "Aloe", tag: "a" });
  });

  test("comparing a small plant with a large one does not fetch the large one", async () => {
    const database = await server.current.createDatabase();
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO plants");
    const store = await openTestStore(through(proxy, server.current.url(database)));
    const large = { id: 1n, name: "x".repeat(1_000_000), tag: undefined };
    await store.create(large);
    await expect(store.create({ ...large, name: "x" })).rejects.toMatchObject({ code: "id_taken" });
    await store.create(large);
    expect(proxy.answerBytes).toBeLessThan(100_000);
    await store.close();
  });
});
