/** What the store makes of the answers of a server. */
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { NewPlant, Obstacle } from "../../../src/plant.ts";
import { parsePostgresUrl } from "../../../src/server/postgres-url.ts";
import type { Host } from "../../../src/store/postgres/address.ts";
import { createPostgresEngine } from "../../../src/store/postgres/engine.ts";
import { ConnectionLost, NoHost } from "../../../src/store/postgres/failure.ts";
import { createInspection, type Inspection } from "../../../src/store/postgres/inspection.ts";
import { assertNodes, readNodes } from "../../../src/store/postgres/nodes.ts";
import { readPlacement } from "../../../src/store/postgres/placement.ts";
import { createPool, type SessionPool } from "../../../src/store/postgres/pool.ts";
import { migrate, migrations, readSchemaVersion } from "../../../src/store/postgres/schema.ts";
import type { Row, Session } from "../../../src/store/postgres/session.ts";
import { writeBatch } from "../../../src/store/postgres/writer.ts";
import { plantsOf } from "../plant-of.ts";
import { quickLimits } from "./fresh.ts";

/** A session whose queries return these rows, one query after another. */
function answering(...answers: readonly (readonly Row[])[]): Session {
  const left = [...answers];
  const query = async () => left.shift() ?? Promise.reject(new Error("a query too many"));
  return { host: { name: "db", port: 5432 }, schema: "public", query } as unknown as Session;
}

/** A session that is in the set until it ends. */
function openFake(sessions: Set<Session>, host?: Host, query?: unknown): Session {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const end = async () => resolve(void sessions.delete(session));
  const methods = { query, execute: async () => {}, destroy: end, close: end };
  const session = { host, lost, isOpen: true, ...methods } as unknown as Session;
  sessions.add(session);
  return session;
}

const errorOf = (code: string) => Object.assign(new pg.DatabaseError("", 0, "error"), { code });
const silent = new ConnectionLost("", { isSilent: true });
const lost = new ConnectionLost("");
const ours = new TypeError("ours");
const address = parsePostgresUrl("//u@h");
const lenient = parsePostgresUrl("//u@h?allow_unsafe=fsync");
const notDurable = { code: "not_durable" };
const utf8 = [["server_encoding", "UTF8"]];
/** What the coordinator says about the plants of node 1. */
const current: Row = [true, 99, true, "1", "w1", 5432];
const columns = ["id 20 p", "name 25 p", "tag 25 p"].map((row) => row.split(" "));

/** @param failure Undefined: none. */
async function expectFailure(work: Promise<unknown>, failure: object | undefined): Promise<void> {
  if (failure === undefined) await work;
  else await expect(work).rejects.toMatchObject(failure);
}

test.each<[answer: string | undefined, hasShards: boolean, object | undefined]>([
  ["on on on logical", true, undefined],
  ["on on remote_apply", true, undefined],
  [undefined, true, undefined],
  ["on on off", false, undefined],
  ["on on off", true, notDurable],
  ["on on local", true, notDurable],
  ["off on on", false, notDurable],
  ["on off on", true, notDurable],
])("a node that answers %s, with shards: %s", async (answer, hasShards, failure) => {
  const row = ["w1:5432", hasShards, answer !== undefined, answer];
  const nodes = await readNodes(answering([[true]], [row]));
  expect(nodes).toMatchObject([{ name: "w1:5432", hasShards }]);
  const assert = async (given = address) => assertNodes(nodes, given);
  await expectFailure(assert(), failure);
  if (answer?.startsWith("off")) await assert(lenient);
});

test("a table that another process creates between two lookups is ours", async () => {
  expect(await readSchemaVersion(answering([[false, true]], [[true, true]], [["1"]]))).toBe(1);
});

test.each([
  ["40001", 20, 21],
  ["42P07", 21, 21],
  ["42701", 21, 21],
  ["42501", 1, 1],
])("after %s %i times, another process has made the tables", async (code, failures, tries) => {
  const session = answering([[""]], [[true, true]], [[`${migrations.length}`]]);
  const begin = vi.fn(async () => begin.mock.calls.length > failures || Promise.reject(error));
  const error = errorOf(code);
  const execute = (text: string) => (text.startsWith("BEGIN") ? begin() : Promise.resolve());
  const migrating = migrate(Object.assign(session, { execute }) as Session, quickLimits);
  await expectFailure(migrating, tries > failures ? undefined : error);
  expect(begin).toHaveBeenCalledTimes(tries);
});

test("without Citus, and before it is distributed, a table has no nodes", async () => {
  for (const answers of [[[[99, false]]], [[[99, true]], []]])
    expect(await readPlacement(answering(...answers))).toBeUndefined();
});

test.each([0, 50, 200])("on a cluster of %i nodes, they share 100 connections", (count) => {
  const nodes = new Map(Array.from({ length: count }, (_, node) => [`${node}`, undefined]));
  const inspection = { placement: count === 0 ? undefined : { nodes } } as Inspection;
  const options = { connectionsMax: 4, limits: quickLimits, connectTo: () => Promise.reject() };
  const engine = createPostgresEngine({} as SessionPool, inspection, options);
  expect(engine.commitsMax).toBe(new Map(Object.entries({ 0: 4, 50: 2, 200: 1 })).get(`${count}`));
  expect(engine.mergesCommits).toBe(count > 0);
  expect(engine.retries.mayHelp(silent)).toBe(count === 0);
  expect(engine.retries.mayHelp(ours)).toBe(false);
  expect(engine.retries.isSilent(silent, "0")).toBe(count > 0);
});

test("an inspection is due for each session after a while", async () => {
  using now = vi.spyOn(performance, "now").mockReturnValue(1000);
  const inspection = createInspection(address, quickLimits);
  const session = answering(utf8, columns, utf8, columns, []);
  await inspection.runWhenDue(session);
  now.mockReturnValue(999 + quickLimits.inspectIntervalMs);
  await inspection.runWhenDue(session);
  await inspection.runWhenDue(answering(utf8, columns));
  now.mockReturnValue(1000 + quickLimits.inspectIntervalMs);
  await inspection.runWhenDue(session);
  expect(await session.query("", [], 1)).toEqual([]);
});

test.each<[timelines: readonly string[], failure?: object]>([
  [["9", "1", "A"]],
  [["A", "B", "A"]],
  [["A", "A", "9"], { code: "inaccessible" }],
  [["A", "A", ""], { code: "inaccessible" }],
  // The last is another database. It is used once the first rejects writes.
  [["A", "A", "A", "A 8"], { code: "inaccessible" }],
  [["A", "A 8 - citus", "A 7 on", "A 8"]],
  // Aurora without logical replication, and in general; no such function; no right.
  ...["55000", "0A000", "42883", "42501"].map((code): [string[]] => [[code, ""]]),
  [["57P01"], errorOf("57P01")],
])("hosts in the timelines %j, the second is a node: %o", async (timelines, failure) => {
  const { hosts } = parsePostgresUrl("//u@h,i");
  const { run } = createInspection({ ...address, hosts, timelines: new Map() }, quickLimits);
  const inspecting = async () => {
    for (const [index, timeline] of timelines.entries()) {
      const [own = "", cluster = "7", isReadOnly, citus] = timeline.split(" ");
      const query = async (text: string) => {
        if (text.includes("FROM unnest")) return [...utf8, ["transaction_read_only", isReadOnly]];
        if (!text.includes("pg_control")) return columns;
        return own.length < 2 ? [[cluster, !citus, own]] : Promise.reject(errorOf(own));
      };
      const host = [hosts[0], { name: "w1", port: 1 }, ...hosts][index];
      const running = run({ host, query } as unknown as Session);
      await (isReadOnly === "on" ? expect(running).rejects.toThrow("read-only") : running);
    }
  };
  await expectFailure(inspecting(), failure);
});

test("a pool without a session tries to open one, with pauses, and all who ask wait for it", async () => {
  const sessions = new Set<Session>();
  const server = { isUp: true, tries: 0 };
  const connect = async () => {
    server.tries++;
    return server.isUp ? openFake(sessions) : Promise.reject(lost);
  };
  const limits = { ...quickLimits, backoffMinMs: 40, backoffMaxMs: 40 };
  const pool = createPool(connect, limits, await connect());
  onTestFinished(async () => {
    const other = createPool(connect, limits, await connect());
    other.dropAll(); // so that it opens one meanwhile
    const asking = [1, 2].map(() => pool.use(() => delay(0))); // the second opens one meanwhile
    await Promise.all([pool.close(), other.close()]);
    await Promise.allSettled(asking);
    expect(sessions.size).toBe(0);
  });
  server.isUp = false;
  const begin = performance.now();
  pool.dropAll();
  expect(pool.isUp).toBe(false);
  const asking = [1, 2, 3].map(() => pool.use(async (session) => session));
  await expect(Promise.all(asking)).rejects.toBe(lost);
  expect(server.tries).toBe(2);
  await expect.poll(() => server.tries, { interval: 1 }).toBeGreaterThan(6);
  expect(performance.now() - begin).toBeGreaterThan(90);
  server.isUp = true;
  await expect.poll(() => pool.isUp).toBe(true);
  const { tries } = server;
  await pool.use(async () => {});
  expect(server.tries).toBe(tries);
});

test.each(["53300", "28P01"])("a session is shared if others get %s", async (code) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const full = new NoHost(new Map(["25006", code].map((one, host) => [`h${host}`, errorOf(one)])));
  const connect = vi.fn(() => Promise.reject(full));
  const pool = createPool(connect, quickLimits, openFake(new Set()));
  onTestFinished(() => pool.close());
  for (const tries of [2, 2, 4]) {
    const asking = [1, 2, 3].map(() => pool.use(() => delay(1)));
    expect(await Promise.all(asking)).toHaveLength(3);
    expect(connect).toHaveBeenCalledTimes(tries);
    vi.advanceTimersByTime(quickLimits.backoffMaxMs - 1);
  }
  const held = [1, 2].map(() => pool.use(() => new Promise(() => {})));
  await delay(0);
  pool.dropAll();
  await expect(Promise.all(held)).rejects.toBe(full);
});

test("a plant that REINDEX CONCURRENTLY has rejected is found", async () => {
  const query = vi.fn(async () => [["1"]]).mockRejectedValueOnce(errorOf("23505"));
  expect(await writeBatch(query, plantsOf(1, 1))).toEqual(["created"]);
});

describe("a cluster", () => {
  const nodeLost = errorOf("08006");
  /** Half of the plants each, the first of them on this host. */
  const shardsOn = (first: string) => [
    [-(2 ** 31), "1", "1", first, 5432, "c", 5432],
    [0, "2", "2", "w2", 5432, "c", 5432],
  ];
  type Answers = Record<string, readonly Row[] | undefined>;

  /** A coordinator `c`, and workers `w1` and `w2`. */
  async function openCluster() {
    /** By a part of the question; undefined: it fails. */
    const answers: Answers = {
      ...{ lock_relation: [current], pg_locks: [[false]] },
      ...{ "count(*)": [[1]], "SELECT groupid": [["0"]], "plants WHERE false": [] },
      ...{ "FROM unnest": utf8, pg_attribute: columns, "plants')::oid": [[99, true]] },
      ...{ shardminvalue: shardsOn("w1"), to_regproc: [[true]], concat_ws: [["on on on"]] },
      ...{ "nodes($1)": [["w1:5432", true, true, "on on on"]], BEGIN: [], ROLLBACK: [] },
    };
    const seen: Answers = { shardminvalue: [["all"]], "nodes($1)": [["nodes"]], concat_ws: [[]] };
    const failures = new Map<string, unknown>();
    const sessions = new Set<Session>();
    const [inspected, unreachable, written] = [[] as string[], [] as string[], new Set<string>()];
    const connectTo = async (host: Host) => {
      if (failures.get(host.name) === lost) throw lost;
      const query = async (text: string, [id, name]: readonly unknown[] = [], timeoutMs = 0) => {
        if (failures.has(host.name)) throw failures.get(host.name);
        const part = Object.keys(answers).find((one) => text.includes(one));
        for (const [name = host.name] of seen[part ?? ""] ?? []) inspected.push(String(name));
        if (part !== undefined) return answers[part] ?? Promise.reject(nodeLost);
        const soon = timeoutMs === quickLimits.aliveIntervalMs ? " soon" : "";
        const large = String(name).length > 1200 ? " large" : "";
        written.add(`${engine.partOf(BigInt(String(id)))} on ${host.name}${soon}${large}`);
        return [[id]];
      };
      return openFake(sessions, host, query);
    };
    const inspection = createInspection(address, quickLimits);
    const connect = () => connectTo({ name: "c", port: 5432 });
    const pool = createPool(connect, quickLimits, await connect());
    const onUnreachable = (nodes: readonly string[]) => void unreachable.push(nodes.join(" "));
    const options = { connectionsMax: 1, connectTo, limits: quickLimits, onUnreachable };
    const engine = createPostgresEngine(pool, inspection, options);
    onTestFinished(async () => {
      await engine.close();
      expect(sessions.size).toBe(0);
    });
    await engine.inspect();
    inspected.length = 0;
    const plant = plantsOf(9).find(({ id }) => engine.partOf(id) === "1") as NewPlant;
    const lose = async (name: string) => {
      failures.set(name, lost);
      for (const session of sessions) if (session.host.name === name) session.destroy();
      await delay(0);
    };
    /** A commit fails, and what it needs is back. */
    const fail = async (node: string, error: unknown) => {
      for (const name of ["c", `w${node}`]) failures.set(name, error);
      await expect(engine.commit([plant], node)).rejects.toBe(error);
      failures.clear();
    };
    const observed = { inspected, unreachable, written, sessions };
    return { engine, answers, failures, plant, lose, fail, ...observed };
  }

  test.each<[down: string, failing: object, Obstacle | undefined, seen: string, probed: string]>([
    ["", {}, undefined, "all w1 w2", "1 on c, 2 on c"],
    ["", { 1: nodeLost }, undefined, "all w1 w2", "2 on c"],
    ["", { 1: nodeLost, 2: nodeLost }, "unreachable", "all w1 w2", "[12] on c"],
    ["", { 1: ours, 2: ours }, undefined, "all w1 w2", "1 on c large, 2 on c large"],
    ["", { 1: errorOf("53100") }, undefined, "all w1 w2", "1 on c large, 2 on c large"],
    ["w1", {}, undefined, "all nodes w2", "1 on c, 2 on c"],
    ["w1 w2", {}, undefined, "all nodes", "1 on c, 2 on c"],
    ["c", {}, undefined, "w1 w2", "1 on w1"],
    ["c", { 1: nodeLost }, undefined, "w1 w2", "2 on w2"],
    ["c w1", {}, undefined, "w2", "2 on w2"],
    ["c w1", { 2: nodeLost }, "unreachable", "w2", ""],
    ["c w1 w2", {}, "unreachable", "", ""],
  ])("%j down, %j fail: %s, sees %s, probes %s", async (down, failing, obstacle, seen, probed) => {
    const { engine, fail, lose, inspected, unreachable, written } = await openCluster();
    for (const [node, error] of Object.entries(failing)) await fail(node, error);
    inspected.length = 0;
    for (const name of down.split(" ")) await lose(name);
    expect(engine.obstacle()).toBe(obstacle);
    await engine.inspect().catch(() => {});
    expect(inspected.join(" ")).toBe(seen);
    for (let probe = 0; probe < 20; probe++) await engine.probe().catch(() => {});
    const reported = down.replace(/\w+/g, "$&:5432");
    expect(unreachable).toEqual(seen === "" || reported === "" ? [] : [reported]);
    expect([...written].sort().join(", ")).toMatch(new RegExp(`^${probed}$`));
    expect(engine.obstacle()).toBe(probed === "" ? obstacle : undefined);
  });

  const found = (at: number, value: unknown) => ({ lock_relation: [current.with(at, value)] });
  const unknown = { lock_relation: [] };
  const copied = { pg_locks: [[true]] };
  const created = ["created"];
  const unconfirmed = { name: "Unconfirmed" };
  const canceled = errorOf("57014");

  test.each<[failures: object, Answers, on: string, string, result: object]>([
    [{}, {}, "w1", "", created],
    [{}, { lock_relation: [current.with(3, "2"), current] }, "w1", "", created],
    [{}, found(0, false), "w1 c", "all", created],
    [{}, found(1, 98), "w1 c", "all", created],
    [{}, found(3, "2"), "w1 c", "all", created],
    [{}, found(4, "w2"), "w1 c", "all", created],
    [{}, found(5, 8), "w1 c", "all", created],
    // A worker was asked.
    [{}, { ...found(2, false), ...copied }, "w1", "", unconfirmed],
    [{}, unknown, "w1", "", created],
    [{}, { ...unknown, ...copied }, "w1", "", unconfirmed],
    [{}, { ...unknown, "count(*)": [[2]] }, "w1", "", unconfirmed],
    [{ c: new NoHost(new Map()) }, {}, "w1", "", created],
    [{ c: ours }, {}, "w1", "", ours],
    [{ c: lost }, {}, "w1", "", created],
    // The coordinator may wait for the same node.
    [{ w1: lost }, {}, "c soon", "", created],
    [{ w1: lost }, { "SELECT groupid": [["1"]] }, "", "", unconfirmed],
    [{ w1: errorOf("42P01") }, {}, "c", "all", created],
    [{ w1: canceled }, {}, "", "", canceled],
    // Of one row: it is not tried elsewhere.
    [{ w1: errorOf("23514") }, {}, "", "", errorOf("23514")],
    [{ w1: errorOf("42P01"), c: canceled }, {}, "", "", canceled],
    [{ w1: lost, c: canceled }, {}, "", "", { name: "ConnectionLost", isSilent: true }],
    [{ w1: lost, c: nodeLost }, {}, "", "", nodeLost],
  ])("with %j, %j: plants are written on %s", async (failing, answers, on, seen, result) => {
    const cluster = await openCluster();
    const { engine, failures, inspected, written, plant, lose, fail } = cluster;
    Object.assign(cluster.answers, answers);
    for (const node of ["1", "2"]) await fail(node, nodeLost);
    expect(engine.obstacle()).toBe("unreachable");
    for (const [name, failure] of Object.entries(failing)) {
      if (failure === lost) await lose(name);
      failures.set(name, failure);
    }
    const committing = engine.commit([plant], engine.partOf(plant.id));
    if (result === created) expect(await committing).toEqual(created);
    else await expect(committing).rejects.toMatchObject(result);
    expect(engine.obstacle()).toBe(result === created ? undefined : "unreachable");
    expect([...written].map((one) => one.replace("1 on ", "")).join(" ")).toBe(on);
    expect(inspected.join()).toBe(seen);
  });

  test("leaves a host that it has replaced", async () => {
    const { engine, answers, sessions } = await openCluster();
    const before = new Set(sessions);
    answers["shardminvalue"] = shardsOn("w3");
    await engine.inspect();
    const names = [...sessions].map((one) => (before.has(one) ? one.host.name : "new"));
    expect(names).toEqual(["c", "c", "w2", "new"]);
  });

  const unsafe = [["w1:5432", true, true, "on on off"]];

  test.each<[Answers, down: string, failure?: object]>([
    [{ concat_ws: [["off on on"]] }, "", notDurable],
    [{ "FROM unnest": [...utf8, ["fsync", "off"]] }, "", notDurable],
    // A sharded database lacks some settings, and a pooler may have lost the connection.
    [{ "FROM unnest": [...utf8, ["fsync", null]] }, ""],
    [{ "FROM unnest": [] }, "", { name: "ConnectionLost" }],
    [{ pg_attribute: columns.slice(1) }, "", { code: "damaged" }],
    [{ pg_attribute: columns.with(1, ["name", "25", "u"]) }, "", notDurable],
    [{ concat_ws: undefined }, ""],
    [{ "nodes($1)": unsafe }, ""],
    [{ "nodes($1)": unsafe }, "w1", notDurable],
    [{ "nodes($1)": undefined }, "w1"],
  ])("an inspection is told %j, without %j: %j", async (answers, down, failure) => {
    const cluster = await openCluster();
    Object.assign(cluster.answers, answers);
    await cluster.lose(down);
    await expectFailure(cluster.engine.inspect(), failure);
  });

  test.each([
    [nodeLost, true, false, false],
    [ours, false, false, false],
    [lost, true, false, false],
    [silent, false, true, true],
    [new NoHost(new Map([["w1", silent]])), false, false, true],
  ])("after %s, a retry may help: %s", async (error, mayHelp, isSilent, isSilentIfDown) => {
    const { engine, lose } = await openCluster();
    expect(engine.retries.mayHelp(error)).toBe(mayHelp);
    expect(engine.retries.isSilent(error, "1")).toBe(isSilent);
    await lose("w1");
    expect(engine.retries.isSilent(error, "1")).toBe(isSilentIfDown);
  });
});
