/** What the store makes of the answers of a server. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import {
  assertCoordinator,
  Coordinator,
  isUntouched,
} from "../../../src/store/postgres/coordinator.ts";
import { PostgresEngine } from "../../../src/store/postgres/engine.ts";
import { ConnectionLost, NoHost } from "../../../src/store/postgres/failure.ts";
import type { Inspection } from "../../../src/store/postgres/inspection.ts";
import { defaultPostgresLimits } from "../../../src/store/postgres/limits.ts";
import { assertNodes, readNodes } from "../../../src/store/postgres/nodes.ts";
import { readPlacement } from "../../../src/store/postgres/placement.ts";
import type { SessionPool } from "../../../src/store/postgres/pool.ts";
import { readSchemaVersion } from "../../../src/store/postgres/schema.ts";
import type { Row, Session } from "../../../src/store/postgres/session.ts";
import { assertServer } from "../../../src/store/postgres/settings.ts";

/** A session whose queries return these rows, one query after another. */
function answering(...answers: readonly (readonly Row[])[]): Session {
  const left = [...answers];
  const query = async () => left.shift() ?? Promise.reject(new Error("a query too many"));
  return { host: { name: "db", port: 5432 }, query } as unknown as Session;
}

const address = parseAddress("//u@h");
const lenient = parseAddress("//u@h?allow_unsafe=fsync");
const notDurable = { code: "not_durable" };

/** @param failure Undefined: none. */
async function expectFailure(work: Promise<unknown>, failure: object | undefined): Promise<void> {
  if (failure === undefined) await work;
  else await expect(work).rejects.toMatchObject(failure);
}

test.each<[settings: object, object | undefined]>([
  // A sharded database lacks some settings, and a pooler may have lost the connection.
  [{ server_encoding: "UTF8", fsync: null, full_page_writes: null }, undefined],
  [{}, { name: "ConnectionLost" }],
])("a server with %j: %j", async (settings, failure) => {
  await expectFailure(assertServer(answering(Object.entries(settings)), address, 1), failure);
});

describe("nodes", () => {
  test.each<[answer: string | undefined, hasShards: boolean, object | undefined]>([
    ["on on on logical", true, undefined],
    ["on on remote_apply", true, undefined],
    [undefined, true, undefined],
    ["on on off", false, undefined],
    ["on on off", true, notDurable],
    ["on on local", true, notDurable],
    ["off on on", false, notDurable],
    ["on off on", true, notDurable],
  ])("one that answers %s, with shards: %s", async (answer, hasShards, failure) => {
    const row = ["w1:5432", hasShards, answer !== undefined, answer];
    const nodes = await readNodes(answering([[true]], [row]), 1);
    expect(nodes).toMatchObject([{ name: "w1:5432", hasShards }]);
    const assert = async (given = address) => assertNodes(nodes, given);
    await expectFailure(assert(), failure);
    if (answer?.startsWith("off")) await assert(lenient);
  });
});

describe("a table", () => {
  test("that another process creates between two lookups is ours", async () => {
    const session = answering([[false, true]], [[true, true]], [["1"]]);
    expect(await readSchemaVersion(session, 1000)).toBe(1);
  });

  test.each([
    ["without Citus", [[[99, false]]]],
    ["before it is distributed", [[[99, true]], []]],
  ])("has no nodes %s", async (_, answers) => {
    expect(await readPlacement(answering(...answers), 1)).toBeUndefined();
  });
});

test.each([
  [0, 4],
  [1, 4],
  [50, 2],
  [200, 1],
])("on a cluster of %i nodes, each gets %i of at most 100 connections", (count, connections) => {
  const nodes = new Map(Array.from({ length: count }, (_, node) => [`${node}`, undefined]));
  const inspection = { placement: count === 0 ? undefined : { nodes } } as Inspection;
  const options = {
    connectionsMax: 4,
    limits: defaultPostgresLimits,
    connectTo: () => Promise.reject(),
  };
  const engine = new PostgresEngine({} as SessionPool, inspection, options);
  expect(engine.commitsMax).toBe(connections);
});

describe("the coordinator", () => {
  const placement = { table: "99" } as Parameters<Coordinator["ask"]>[0];
  const host = { name: "w1", port: 7 };
  const current = [true, 99, true, "1", "w1", 7];

  test.each([
    ["current", [current.with(3, "2"), current]],
    ["outdated", [current.with(0, false)]],
    ["outdated", [current.with(1, 98)]],
    ["outdated", [current.with(3, "2")]],
    ["outdated", [current.with(4, "w2")]],
    ["outdated", [current.with(5, 8)]],
    // A worker was asked.
    ["unknown", [current.with(2, false)]],
    ["unknown", []],
  ])("says that plants are in a table that is %s: %j", async (answer, found) => {
    expect(await new Coordinator(async () => found).ask(placement, "1", host)).toBe(answer);
  });

  test.each([
    [new ConnectionLost(""), "unknown"],
    [new NoHost(new Map()), "unknown"],
    [new TypeError("ours"), undefined],
  ])("that fails with %s says: %s", async (error, answer) => {
    const asking = new Coordinator(() => Promise.reject(error)).ask(placement, "1", host);
    if (answer === undefined) await expect(asking).rejects.toBe(error);
    else expect(await asking).toBe(answer);
  });

  test("is asked once for all that wait for the question before", async () => {
    let asked = 0;
    const ended: number[] = [];
    const coordinator = new Coordinator(async () => {
      const question = ++asked;
      // The second would end before the first.
      await delay(question === 1 ? 20 : 0);
      ended.push(question);
      return [current];
    });
    const ask = () => coordinator.ask(placement, "1", host).then(() => ended.length);
    const first = [ask(), ask()];
    await delay(5);
    const second = [ask(), ask()];
    expect(await Promise.all(first)).toEqual([1, 1]);
    expect(await Promise.all(second)).toEqual([2, 2]);
  });

  test("is meant, and not a worker", async () => {
    await assertCoordinator(answering([["0"]]), 1);
    await expectFailure(assertCoordinator(answering([["1"]]), 1), { name: "Unconfirmed" });
  });

  test.each([
    [false, 2, true],
    [true, 2, false],
    [false, 1, false],
  ])(
    "is not needed if locks are %s and %i placements of 2 are there: %s",
    async (locks, found, isSafe) => {
      expect(await isUntouched(answering([[locks]], [[found]]), ["5", "6"], 1)).toBe(isSafe);
    },
  );
});
