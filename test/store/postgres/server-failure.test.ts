/** Failures of a server, and of the connection to it: messages that do not arrive, or no answer. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant } from "../../../src/plant.ts";
import type { PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { type Interference, openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import {
  openDatabase,
  openFresh as openFreshOn,
  openTestEngine,
  openTestStore,
  through,
  until,
  useServer,
  withoutSync,
} from "./fresh.ts";

/** One of each: created, created again, rejected. */
const first: NewPlant = { id: 1n, name: "Fern" };
const other: NewPlant = { id: 1n, name: "Fern", tag: "" };
const taken = { code: "id_taken" };

const waitsFor = (what: "Lock" | "IPC") => `wait_event_type = '${what}' AND state = 'active'`;

describe.skipIf(!hasPostgres)("on its own server", () => {
  // Its Unix socket is in the folder of its data.
  const server = useServer({ settings: { ...withoutSync, unix_socket_directories: "." } });
  const openFresh = (limits?: Partial<PostgresLimits>) => openFreshOn(server.current, limits);

  test("a server with few connections left is used with those it grants", async () => {
    const { database, query, kept } = await openDatabase(server.current);
    const role = await server.current.createRole("CONNECTION LIMIT 2");
    await query(`GRANT ALL ON SCHEMA public TO ${role}`);
    const store = await openTestStore(server.current.url(database, role, "pool_max_conns=8"));
    await Promise.all(plantsOf(4000).map((plant) => store.create(plant)));
    expect(await kept()).toEqual(plantsOf(4000));
  });

  test("a row that is locked for a moment: nobody notices, and its owner wins", async () => {
    const { url, store, kept, sessions } = await openFresh();
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; INSERT INTO plants VALUES (1, 'held', NULL)");
    const losing = expect(store.create(first)).rejects.toMatchObject(taken);
    await until("a locked session", async () => (await sessions(waitsFor("Lock"))).length > 0);
    await holder.query("COMMIT");
    await losing;
    expect(await kept()).toMatchObject([{ name: "held" }]);
  });

  test("over a Unix socket, a statement that takes long is cancelled, and not given up", async () => {
    const { url, kept } = await openDatabase(server.current);
    const limits = { statementTimeoutMs: 2000, aliveIntervalMs: 900, cancelGraceMs: 60_000 };
    const own = url.replace("127.0.0.1", encodeURIComponent(server.current.data));
    const store = await openTestStore(own, { ...limits, retryLimitMs: 1 });
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; LOCK TABLE plants");
    await expectUnavailable(store.create(first), "57014");
    await holder.query("ROLLBACK");
    await store.create(first);
    expect(await kept()).toEqual([first]);
  });

  test("batches with the same ids in another order do not deadlock", async () => {
    const { url, query, store } = await openFresh({ statementTimeoutMs: 60_000, retryLimitMs: 0 });
    const another = await openTestStore(url, { statementTimeoutMs: 60_000, retryLimitMs: 0 });
    await query(
      `CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_sleep(0.01); RETURN NEW; END';
       CREATE TRIGGER rest BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION rest()`,
    );
    const plants = plantsOf(20);
    await Promise.all([
      ...plants.map((plant) => store.create(plant)),
      ...plants.toReversed().map((plant) => another.create(plant)),
    ]);
  });

  test("COMMIT itself fails: none of its plants is confirmed or stored", async () => {
    const { query, store, kept } = await openFresh();
    await query(
      `CREATE TABLE parents (id int PRIMARY KEY);
       CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
       CREATE FUNCTION orphan() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN INSERT INTO children VALUES (1); RETURN NEW; END';
       CREATE TRIGGER orphan AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION orphan()`,
    );
    const creating = [store.create(first), store.create(plantOf(2))];
    await Promise.all(creating.map((one) => expectUnavailable(one, "23503")));
    expect(await kept()).toEqual([]);
    await query("DROP TRIGGER orphan ON plants");
    await store.create(first);
    expect(await kept()).toEqual([first]);
  });

  test("deleting rows never makes a plant's owner lose its id", async () => {
    const { url, store } = await openFresh();
    await using other = await openPostgresClient(url);
    let isOver = false;
    const deleting = (async () => {
      while (!isOver) await other.query("DELETE FROM plants");
    })();
    for (let round = 0; round < 100; round++) {
      await Promise.all(plantsOf(20).map((plant) => store.create(plant)));
    }
    isOver = true;
    await deleting;
  });

  describe("with a synchronous standby that is down", () => {
    async function loseStandby(): Promise<void> {
      onTestFinished(() => server.current.set("synchronous_standby_names", ""));
      await server.current.set("synchronous_standby_names", "away");
    }

    const hurry = `CREATE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN SET LOCAL synchronous_commit = off; RETURN NEW; END';
      CREATE TRIGGER hurry AFTER INSERT ON plants FOR EACH ROW EXECUTE FUNCTION hurry()`;
    test.each(["", hurry])("a plant on only one machine is not confirmed: %s", async (sql) => {
      const { url, query, kept, sessions } = await openFresh();
      await query(sql);
      const store = await openTestStore(url, { retryLimitMs: 2000 });
      await loseStandby();
      await expectUnavailable(store.create(first));
      const waiting = "state = 'active' AND wait_event_type IS NOT NULL";
      await until("the end of all", async () => (await sessions(waiting)).length === 0);
      expect(await kept()).toEqual([first]);
      // It is visible by now, but no safer: the same call must not confirm it.
      await expectUnavailable(store.create(first));
      await server.current.set("synchronous_standby_names", "");
      await expect.poll(() => store.create(first).then(Boolean, () => false)).toBe(true);
      await expect(store.create(other)).rejects.toMatchObject(taken);
    });

    test("a store that is closed leaves no statement behind, nor begins one", async () => {
      const { url, kept, sessions } = await openFresh();
      const store = await openTestStore(`${url}&pool_max_conns=1`, { statementTimeoutMs: 60_000 });
      await loseStandby();
      const leaving = new AbortController();
      const left = store.create(first, leaving.signal);
      const waiting = () => sessions(waitsFor("IPC"));
      await until("a waiting session", async () => (await waiting()).length > 0);
      const queued = store.create(plantOf(2), leaving.signal);
      leaving.abort("left");
      for (const creating of [left, queued]) await expect(creating).rejects.toBe("left");
      await store.close();
      expect(await waiting()).toEqual([]);
      expect(await kept()).toEqual([first]);
    });

    test("a wait that an operator cancels is not a success", async () => {
      const { database, url, kept, sessions } = await openFresh();
      const untilWaiting = () =>
        until("a waiting session", async () => (await sessions(waitsFor("IPC"))).length > 0);
      // Only the warning shows it, and a role may have it hidden.
      const hide = `ALTER ROLE postgres IN DATABASE ${database} SET client_min_messages = error`;
      await server.current.query(hide);
      const store = await openTestStore(url, { statementTimeoutMs: 60_000 });
      await loseStandby();
      let isSettled = false;
      const creating = store.create(first).finally(() => (isSettled = true));
      creating.catch(() => {});
      await untilWaiting();
      await sessions("true", "pg_cancel_backend(pid)");
      await until("the row being visible", async () => (await kept()).length > 0);
      // The second attempt, which waits for the same thing.
      await untilWaiting();
      expect(isSettled).toBe(false);
      await server.current.set("synchronous_standby_names", "");
      await creating;
    });
  });
});

describe.skipIf(!hasPostgres)("through a proxy", () => {
  const inserts = "INSERT INTO public.plants";
  /** A store behind a proxy that interferes with its statements. */
  async function openBehindProxy(limits: Partial<PostgresLimits> = {}, mark = inserts) {
    const { url, kept } = await openDatabase(sharedServer.current);
    const proxy = await openTcpProxy(sharedServer.current.port, mark);
    const store = await openTestStore(through(proxy, url), limits);
    // After the store: the proxy must outlive it.
    onTestFinished(async () => {
      await store.close();
      await proxy[Symbol.asyncDispose]();
    });
    return { store, proxy, before: proxy.seen.length, kept };
  }

  const interferences: readonly [title: string, Interference, persists: boolean][] = [
    ["failed: the statement did not arrive", "cut", false],
    ["reported a failure but persisted: the answer was lost", "lose-answer", true],
    ["reported a failure but persisted: the end of the answer was lost", "truncate-answer", true],
  ];
  const silence: (typeof interferences)[number] = ["failed: it is silent", "swallow", false];

  describe("a broken connection", () => {
    test.each([...interferences, silence])("%s: nobody notices", async (_, interference) => {
      const { store, proxy, before, kept } = await openBehindProxy();
      proxy.interfere = (seenBefore) => (seenBefore === before ? interference : "pass");
      const all = [first, first, other, plantOf(2)].map((plant) => store.create(plant));
      const results = await Promise.allSettled(all);
      expect(proxy.seen.slice(before, before + 2)).toEqual([interference, "pass"]);
      const status = "fulfilled";
      expect(results).toMatchObject([{ status }, { status }, { reason: taken }, { status }]);
      expect(await kept()).toEqual([first, plantOf(2)]);
    });

    test.each(interferences)("%s, each time: unavailable", async (_, interference, persists) => {
      const { store, proxy, before, kept } = await openBehindProxy({ retryLimitMs: 1000 });
      proxy.interfere = () => interference;
      const plants = plantsOf(2, 1);
      const results = await Promise.allSettled(plants.map((plant) => store.create(plant)));
      const reason = { code: "unavailable", cause: expect.any(Error) };
      expect(results).toMatchObject([{ reason }, { reason }]);
      expect(proxy.seen.length - before).toBeGreaterThan(2);
      expect(await kept()).toEqual(persists ? plants : []);

      proxy.interfere = () => "pass";
      await Promise.all(plants.map((plant) => store.create(plant)));
      await expect(store.create({ ...plantOf(1), name: "another" })).rejects.toMatchObject(taken);
      expect(await kept()).toEqual(plants);
    });

    test("during a comparison: an owner never gets id_taken for its own plant", async () => {
      const { store, proxy } = await openBehindProxy({}, "SELECT wanted.place");
      await store.create(first);
      proxy.interfere = (seenBefore) => (seenBefore < 2 ? "lose-answer" : "pass");
      const results = await Promise.allSettled([store.create(other), store.create(first)]);
      expect(results).toMatchObject([{ reason: taken }, { status: "fulfilled" }]);
      expect(proxy.seen.slice(0, 3)).toEqual(["lose-answer", "lose-answer", "pass"]);
    });
  });

  test("the loss of an idle connection is noticed at once, and it is replaced", async () => {
    const { url } = await openDatabase(sharedServer.current);
    await using proxy = await openTcpProxy(sharedServer.current.port, "none");
    // Without a store, nobody asks it for anything.
    const engine = await openTestEngine(through(proxy, url));
    onTestFinished(() => engine.close());
    for (let outage = 0; outage < 2; outage++) {
      proxy.refuse();
      await expect.poll(() => engine.obstacle()).toBe("unreachable");
      proxy.allow();
      await expect.poll(() => engine.obstacle()).toBeUndefined();
    }
    // Neither uses a lost one.
    await Promise.all(plantsOf(2).map((plant) => engine.commit([plant], engine.partOf(plant.id))));
  });
});

async function expectUnavailable(creating: Promise<unknown>, state?: string): Promise<void> {
  const cause = state === undefined ? {} : { cause: { code: state } };
  await expect(creating).rejects.toMatchObject({ code: "unavailable", ...cause });
}
