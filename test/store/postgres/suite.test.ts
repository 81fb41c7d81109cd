import { describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant } from "../../../src/plant.ts";
import { openPlantReader, openStore } from "../../support/open-store.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { isPostgresGiven, openGivenSchema } from "../../support/store-place.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { expectKept, storeSuite, untilObstacle } from "../suite.ts";
import {
  openDatabase,
  openFresh,
  openTestStore,
  through,
  until,
  useServer,
  withoutSync,
} from "./fresh.ts";

const taken = { code: "id_taken" };

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

  test("plants that arrive together need few statements, and connections that are closed later", async () => {
    const { store, query, sessions } = await openFresh(server.current, { idleTimeoutMs: 1000 });
    await Promise.all(plantsOf(8000).map((plant) => store.create(plant)));
    expect((await sessions()).length).toBeLessThanOrEqual(4);
    expect((await query("SELECT DISTINCT xmin::text FROM plants")).length).toBeLessThanOrEqual(20);
    const [now] = await query("SELECT clock_timestamp()::text AS text");
    for (const plant of plantsOf(8)) await store.create(plant);
    // One alone, so that the others can end.
    expect(await sessions(`query_start > '${now?.["text"]}'`)).toHaveLength(1);
    await until("all sessions but one closed", async () => (await sessions()).length === 1);
    await store.close();
    await until("the end of the last one", async () => (await sessions()).length === 0);
  });

  test("no connection in use is closed for having been idle before", async () => {
    const limits = { idleTimeoutMs: 1, statementTimeoutMs: 60_000, retryLimitMs: 0 };
    const { store } = await openFresh(server.current, limits);
    await Promise.all(plantsOf(8000).map((plant) => store.create(plant)));
  });

  test("different defaults of a database, role or server change nothing", async () => {
    const { database, query, kept } = await openDatabase(server.current);
    const role = await server.current.createRole();
    await query(`GRANT ALL ON SCHEMA public TO ${role}`);
    const defaults = `synchronous_commit=off array_nulls=off client_min_messages=error
      client_encoding=LATIN1 default_transaction_isolation=serializable bytea_output=escape
      standard_conforming_strings=off transform_null_equals=on row_security=off`;
    for (const one of defaults.split(/\s+/)) await query(`ALTER ROLE ${role} SET ${one}`);
    const store = await openTestStore(server.current.url(database, role));
    const name = "\\ '\u00e9\u{1f331}";
    const plants: NewPlant[] = Array.from({ length: 300 }, (_, id) => ({
      ...{ id: BigInt(id), name, tag: id % 2 === 0 ? undefined : "NULL" },
    }));
    await Promise.all([...plants, ...plants].map((plant) => store.create(plant)));
    await expect(store.create({ id: 0n, name, tag: "NULL" })).rejects.toMatchObject(taken);
    expect(await kept()).toEqual(plants);
  });

  test.each([
    ["off", "on"],
    ["remote_write", "on"],
    ["remote_apply", "remote_apply"],
  ])("with synchronous_commit=%s everywhere, every commit uses %s", async (around, value) => {
    const { database, url, query } = await openDatabase(server.current);
    await query(`ALTER DATABASE ${database} SET synchronous_commit = ${around}`);
    const store = await openTestStore(url);
    await query(
      `CREATE TABLE seen (id bigint, value text);
       CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN
           INSERT INTO seen VALUES (NEW.id, current_setting('synchronous_commit'));
           RAISE WARNING 'a warning of a trigger is no reason to fail';
           RETURN NEW;
         END $$;
       CREATE TRIGGER see BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION see()`,
    );
    await store.create(plantOf(1));
    onTestFinished(() => server.current.set("synchronous_commit", "on"));
    await server.current.set("synchronous_commit", "off");
    await store.create(plantOf(2));
    expect(await query("SELECT value FROM seen ORDER BY id")).toEqual([{ value }, { value }]);
  });

  test("a search_path that changes leads to no other table", async () => {
    const { database, url, query, sessions } = await openDatabase(server.current);
    const own = `"it's \\ ""$&"`;
    const setPath = (to: string) => query(`ALTER DATABASE ${database} SET search_path = ${to}`);
    await query(`CREATE SCHEMA ${own}; CREATE SCHEMA archive`);
    await setPath(own);
    const store = await openTestStore(url);
    await store.create(plantOf(1));
    await query(`CREATE TABLE archive.plants (LIKE ${own}.plants INCLUDING ALL)`);
    await setPath(`archive, ${own}`);
    await sessions("true", "pg_terminate_backend(pid)");
    await expectKept(store, plantOf(1));
    expect(await query(`SELECT FROM ${own}.plants`)).toHaveLength(1);
    await expect(openTestStore(url)).rejects.toMatchObject({ code: "foreign" });
    await setPath("public");
    await expect(openTestStore(url)).rejects.toMatchObject({ code: "foreign" });
    await setPath(own);
    const reader = await openPlantReader(url);
    expect(reader.count).toBe(1);
    await reader[Symbol.asyncDispose]();
    await query(`DROP SCHEMA ${own} CASCADE`);
    await untilObstacle(store, "damaged");
  });

  test("text is compared as bytes, even if the column's collation treats it as equal", async () => {
    const { store, query } = await openFresh(server.current);
    await query(
      `CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
       ALTER TABLE plants ALTER name TYPE text COLLATE blind, ALTER tag TYPE text COLLATE blind`,
    );
    const plant = { id: 1n, name: "Aloe", tag: "a" };
    await store.create(plant);
    for (const other of [{ name: "aloe" }, { tag: "\u00e1" }]) {
      await expect(store.create({ ...plant, ...other })).rejects.toMatchObject(taken);
    }
    await store.create(plant);
  });

  test("comparing a small plant with a large one does not fetch the large one", async () => {
    const { url } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "INSERT INTO public.plants");
    const store = await openTestStore(through(proxy, url));
    const large = { id: 1n, name: "x".repeat(1_000_000) };
    await store.create(large);
    await expect(store.create({ ...large, name: "x" })).rejects.toMatchObject(taken);
    await store.create(large);
    expect(proxy.answerBytes).toBeLessThan(100_000);
    await store.close();
  });
});
