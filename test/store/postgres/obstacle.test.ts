/** Changes to a PostgreSQL server in use: the store detects the obstacle, and its end. */
import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { collect } from "../../../packages/gateway/test/support/collect.ts";
import { patienceMs } from "../../../packages/gateway/test/support/within.ts";
import type { NewPlant, Obstacle, PlantStore } from "../../../src/plant.ts";
import { parsePostgresUrl } from "../../../src/server/postgres-url.ts";
import { createBatchedStore } from "../../../src/store/batched-store.ts";
import { checkPostgres } from "../../../src/store/postgres/open.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { expectKept, untilObstacle } from "../suite.ts";
import { openDatabase, openTestEngine, openTestStore, quickLimits, useServer } from "./fresh.ts";

const alter = "ALTER TABLE plants";
/** Two levels deep. */
const partition = `${alter} RENAME TO trees;
  CREATE TABLE plants (LIKE trees INCLUDING ALL) PARTITION BY RANGE (id);
  CREATE TABLE lower PARTITION OF plants DEFAULT PARTITION BY RANGE (id);
  CREATE UNLOGGED TABLE lowest PARTITION OF lower DEFAULT;
  INSERT INTO plants TABLE trees; GRANT SELECT, INSERT, UPDATE ON plants TO role`;

/** What it does, by default to long names. */
const trigger = (when: "BEFORE" | "AFTER", body: string, rows = "length(NEW.name) > 99") => `
  CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
  CREATE TRIGGER t ${when} INSERT ON plants FOR EACH ROW WHEN (${rows}) EXECUTE FUNCTION f()`;
/** As an index does, whose page for the next ids has no room. */
const failNear = (state: string) =>
  trigger("AFTER", `RAISE 'full' USING ERRCODE = '${state}';`, "NEW.id / 9999 = 0");
const short = `${alter} ADD CHECK (length(name) < 99)`;
const partitionTo = (end: number) =>
  partition.replaceAll("DEFAULT", `FOR VALUES FROM (0) TO (${end})`).replace("UNLOGGED", "");

describe.skipIf(!hasPostgres)("on its own server", () => {
  const server = useServer();

  /** With a role that has only the permissions that serving needs. */
  async function openFresh(retryLimitMs = 3_600_000) {
    const { url, urlFor, ...rest } = await openDatabase(server.current);
    await (await openTestStore(url)).close();
    const own = await urlFor("SELECT, INSERT, UPDATE", "pool_max_conns=1");
    const role = new URL(own).username;
    const store = await openTestStore(own, { inspectIntervalMs: 10, retryLimitMs });
    await store.create(plantOf(1));
    return { ...rest, url, own, role, store };
  }

  const patient = { ...quickLimits, cancelGraceMs: patienceMs };
  const check = (at: string) => collect(checkPostgres(parsePostgresUrl(at.slice(9)), patient));
  async function expectRefused(store: PlantStore): Promise<void> {
    await expect(store.create(plantOf(2))).rejects.toMatchObject({ code: "unavailable" });
  }

  test.each<[Obstacle, harm: string, mend: string]>([
    ["forbidden", "REVOKE INSERT ON plants FROM role", "GRANT INSERT ON plants TO role"],
    ["forbidden", "REVOKE UPDATE ON plants FROM role", "GRANT UPDATE ON plants TO role"],
    ["not_durable", `${alter} SET UNLOGGED`, `${alter} SET LOGGED`],
    ["not_durable", partition, "ALTER TABLE lowest SET LOGGED"],
    ["damaged", `${alter} ALTER name TYPE varchar(9)`, `${alter} ALTER name TYPE text`],
    ["damaged", `${alter} ALTER name DROP NOT NULL`, `${alter} ALTER name SET NOT NULL`],
    ["damaged", `${alter} RENAME TO trees`, "ALTER TABLE trees RENAME TO plants"],
    ["damaged", `${alter} DROP CONSTRAINT plants_pkey`, `${alter} ADD PRIMARY KEY (id)`],
    ["disk_full", failNear("53100"), "DROP TRIGGER t ON plants"],
    ["unwritable", `${failNear("XX000")}; ${short}`, "DROP TRIGGER t ON plants"], // as of a quota
  ])("%s: %s", async (obstacle, harm, mend) => {
    const { store, role, query, kept, sessions } = await openFresh();
    await query(harm.replace(/role$/, role));
    await expectRefused(store);
    await untilObstacle(store, obstacle);
    await expectRefused(store);
    await query(mend.replace(/role$/, role));
    await untilObstacle(store);
    await store.create(plantOf(2));
    // A probe leaves nothing behind, and a failure no connection.
    expect(await kept()).toEqual(plantsOf(2, 1));
    expect(await sessions(`usename = '${role}'`)).toHaveLength(1);
  });

  test.each([
    `${alter} ADD CHECK (name <> '')`,
    `DELETE FROM plants; ${alter} ALTER tag SET NOT NULL`,
    partitionTo(9),
    `DELETE FROM plants; ${alter} ADD more int NOT NULL`,
  ])("a table that may refuse what is probed, but no other plant: %s", async (change) => {
    const { own, role, query, kept } = await openFresh();
    await query(change.replace(/role$/, role));
    const before = await kept();
    const engine = await openTestEngine(own, patient);
    onTestFinished(() => engine.close());
    await engine.probe();
    // Committed as a plant would be.
    onTestFinished(() => server.current.set("synchronous_standby_names", ""));
    await server.current.set("synchronous_standby_names", "nobody");
    await expect(engine.probe()).rejects.toMatchObject({ name: "Unconfirmed" });
    const text = expect.stringMatching(/; start the standby, or/);
    expect((await check(own)).at(-1)).toEqual({ level: "fail", subject: "table", text });
    await server.current.set("synchronous_standby_names", "");
    await engine.probe();
    expect((await check(own)).at(-1)).toMatchObject({ level: "ok", subject: "table" });
    expect(await kept()).toEqual(before);
  });

  const kept = { message: expect.stringMatching(/^a trigger/) };

  test.each<[cause: object, sql: string]>([
    [{ code: "54000" }, "CREATE INDEX ON plants (name)"],
    [{ code: "23514" }, `${alter} ADD CHECK (length(name) BETWEEN 1 AND 99)`],
    [
      { code: "42501" },
      `${alter} ENABLE ROW LEVEL SECURITY;
       CREATE POLICY short ON plants USING (true) WITH CHECK (length(name) < 99)`,
    ],
    [
      { code: "23502" },
      `DELETE FROM plants; ${alter} ADD more int NOT NULL DEFAULT 1;
       ${trigger("BEFORE", "NEW.more = NULL; RETURN NEW;")}`,
    ],
    [{ code: "MY001" }, trigger("BEFORE", "RAISE 'no' USING ERRCODE = 'MY001';")],
    [kept, trigger("BEFORE", "RETURN NULL;")],
    [kept, trigger("BEFORE", "NEW.name = 'another'; RETURN NEW;")],
    [kept, trigger("AFTER", "UPDATE plants SET tag = 'x' WHERE id = NEW.id; RETURN NULL;")],
    [kept, trigger("AFTER", "DELETE FROM plants WHERE id = NEW.id; RETURN NULL;")],
    [
      kept,
      `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN DELETE FROM plants WHERE length(name) > 99; RETURN NULL; END $$;
       CREATE TRIGGER t AFTER UPDATE ON plants EXECUTE FUNCTION f()`,
    ],
  ])("a plant that the table does not keep is rejected alone: %s %s", async (cause, sql) => {
    const { store, query, role } = await openFresh();
    await query(`${sql}; GRANT DELETE ON plants TO ${role}`);
    const bad = { id: 5n, name: randomBytes(6000).toString("hex") };
    const others = [...plantsOf(5), ...plantsOf(5, 6)].map((plant) => store.create(plant));
    // Shares a commit with those that came while the first was written.
    const message = expect.stringMatching(/did not store the plant as it is/);
    const failure = { code: "unavailable", message, cause };
    await expect(store.create(bad)).rejects.toMatchObject(failure);
    await Promise.all(others);
    expect(store.obstacle()).toBeUndefined();
    if (/'another'|'x'/.test(sql)) failure.code = "id_taken";
    await expect(store.create(bad)).rejects.toHaveProperty("code", failure.code);
  });

  test("in an encoding that a trigger has set, nothing is stored until an inspection", async () => {
    const { own, query, kept } = await openFresh();
    await query(trigger("BEFORE", "SET client_encoding = LATIN1; RETURN NEW;", "NEW.id = 2"));
    const engine = await openTestEngine(own, { inspectIntervalMs: 3_600_000 });
    onTestFinished(() => engine.close());
    const named = (id: number) => ({ ...plantOf(id), name: "\u00e9" });
    expect(await engine.commit([named(2)], "")).toEqual(["created"]);
    await expect(engine.commit([named(3)], "")).rejects.toHaveProperty("code", "23502");
    await engine.inspect();
    await engine.commit([named(3)], "");
    expect(await kept()).toEqual([plantOf(1), named(2), named(3)]);
  });

  test.each(["fsync", "full_page_writes"])("%s that is turned off by a reload", async (name) => {
    const { store } = await openFresh();
    onTestFinished(() => server.current.set(name, "on"));
    await server.current.set(name, "off");
    // No plant arrives: the timer detects it.
    await untilObstacle(store, "not_durable");
    await expectRefused(store);
    await server.current.set(name, "on");
    await untilObstacle(store);
    await store.create(plantOf(2));
  });

  test("a new connection is inspected before its first write", async () => {
    const { url, query, kept, sessions } = await openDatabase(server.current);
    const store = await openTestStore(url);
    await query(`${alter} SET UNLOGGED`);
    await sessions("true", "pg_terminate_backend(pid)");
    await expect(store.create(plantOf(1))).rejects.toHaveProperty("cause.code", "not_durable");
    expect(await kept()).toEqual([]);
  });

  test.each(["", partitionTo(9999)])("a locked table, until it is unlocked: %s", async (change) => {
    const { store, url, role, query } = await openFresh(300);
    await query(change.replace(/role$/, role));
    await using holder = await openPostgresClient(url);
    await holder.query(`BEGIN; LOCK TABLE ${change === "" ? "plants" : "lowest"}`);
    await expectRefused(store);
    await untilObstacle(store, "locked");
    await holder.query("ROLLBACK");
    await untilObstacle(store);
  });

  test("a locked row does not affect other rows", async () => {
    const { store, url } = await openFresh(300);
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; UPDATE plants SET tag = ''; INSERT INTO plants VALUES (0, '')");
    const creating = store.create(plantOf(1));
    await expect(creating).rejects.toMatchObject({ code: "unavailable", cause: { code: "57014" } });
    await store.create(plantOf(2));
    expect(store.obstacle()).toBeUndefined();
    expect((await check(url)).at(-1)).toMatchObject({ level: "ok", subject: "table" });
    await holder.query("ROLLBACK");
    await expectKept(store, plantOf(1));
  });

  test("checks and commits together stay within the connection limit", async () => {
    const { url, sessions } = await openDatabase(server.current);
    const engine = await openTestEngine(`${url}?pool_max_conns=1`, { inspectIntervalMs: 10 });
    const store = createBatchedStore(engine);
    onTestFinished(() => store.close());
    const workFor = (plant: NewPlant) => [store.create(plant), engine.inspect(), engine.probe()];
    await Promise.all(plantsOf(20).flatMap(workFor));
    const ours = { application_name: "plant-store" };
    expect(await sessions("true", "application_name")).toEqual([ours]);
  });
});
