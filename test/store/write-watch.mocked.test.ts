/** When a store reports that it is not writable, with an engine controlled by the test. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Obstacle } from "../../src/plant.ts";
import { createBatchedStore } from "../../src/store/batched-store.ts";
import type { Engine } from "../../src/store/engine.ts";
import { StoreOpenError } from "../../src/store/open-error.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";

// The test runs the timers itself, from the first tick on.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const full = () => Promise.reject(new Error("disk_full"));
const unsafe = () => Promise.reject(new StoreOpenError("not_durable", "not_durable"));
const well = () => {};

type Given = Partial<MemoryEngine> & Pick<Engine, "openedWith" | "retries">;

function open(given: Given = {}) {
  const engine = Object.assign(new MemoryEngine(), given);
  const told: [Obstacle | undefined, unknown][] = [];
  const onObstacle = (...change: [Obstacle | undefined, unknown]) => void told.push(change);
  const times = { inspectIntervalMs: 2000, backoffMinMs: 250, backoffMaxMs: 5000 };
  const limits = { answerTimeoutMs: 3000 };
  const store = createBatchedStore(engine, { onObstacle, limits }, times);
  onTestFinished(() => store.close());
  const isCreated = (id: number) =>
    store.create(plantOf(id)).then(
      () => true,
      () => false,
    );
  const after = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  return { engine, store, told, isCreated, after };
}

/** A disk that is full, as a create has found. */
async function openFull(knows?: Obstacle) {
  const opened = open({ before: full, probed: full, knows });
  expect(await opened.isCreated(1)).toBe(false);
  return { ...opened, recover: () => Object.assign(opened.engine, { before: well, probed: well }) };
}

test("an obstacle that is there at the start is told at once, and probed soon", async () => {
  const openedWith = new Error("disk_full");
  expect(open({ knows: "unreachable" }).store.obstacle()).toBe("unreachable");
  const { engine, store, told, after } = open({ openedWith });
  expect([store.obstacle(), told]).toEqual(["disk_full", [["disk_full", openedWith]]]);
  await after(249);
  expect(engine.probes).toBe(0);
  await after(1);
  expect(engine.probes).toBe(1);
  expect([store.obstacle(), told.at(-1)]).toEqual([undefined, [undefined, undefined]]);
});

test("one failed commit changes nothing while a probe succeeds, which ends the doubt", async () => {
  const { engine, store, told, isCreated, after } = open({ before: full });
  for (const id of [1, 2, 3]) expect(await isCreated(id)).toBe(false);
  await after(0);
  const { probes } = engine;
  expect(probes).toBeGreaterThan(0);
  expect(store.obstacle()).toBeUndefined();
  expect(told).toEqual([]);
  // An idle store is only inspected.
  await after(60_000);
  expect(engine.probes).toBe(probes);
});

test("a failed commit and probe are reported once, and so is the recovery, each time", async () => {
  const { engine, store, told, isCreated, after, recover } = await openFull();
  for (const ms of [20_000, 24 * 60 * 60_000]) {
    Object.assign(engine, { before: full, probed: full });
    for (const id of [2, 3]) {
      expect(await isCreated(id)).toBe(false);
      await after(0);
      expect(store.obstacle()).toBe("disk_full");
    }
    await after(ms);
    recover();
    await after(5000);
    expect(store.obstacle()).toBeUndefined();
  }
  const change = ["disk_full", new Error("disk_full"), undefined, undefined];
  expect(told.flat()).toEqual([...change, ...change]);
});

test.each([undefined, "unreachable"] as const)(
  "probes run at once, soon, and then less and less often, also if the engine says %s",
  async (knows) => {
    const { engine, store, isCreated, after, recover } = await openFull(knows);
    await after(1000);
    expect(engine.probes).toBeGreaterThanOrEqual(3);
    for (let second = 1; second < 60; second++) {
      expect(await isCreated(1)).toBe(false);
      await after(1000);
    }
    expect(engine.probes).toBeLessThan(35);
    if (knows === undefined) return;
    // The engine is the first to know when it is back.
    recover().knows = undefined;
    await after(250);
    expect(store.obstacle()).toBeUndefined();
  },
);

test.each([
  ["creates are tried without waiting for the next probe; a success brings it forward", 1, 250],
  ["a series of successful creates does not delay the probe", 3, 100],
])("%s", async (_, count, pauseMs) => {
  const { store, isCreated, after, recover } = await openFull();
  await after(30_000);
  recover();
  for (let id = 1; id <= count; id++) {
    expect(await isCreated(id)).toBe(true);
    await after(pauseMs);
  }
  expect(store.obstacle()).toBeUndefined();
});

test("a successful create proves nothing: it may have existed before", async () => {
  const { engine, store, isCreated, after } = open();
  await isCreated(1);
  Object.assign(engine, { before: full, probed: full });
  await isCreated(2);
  await after(0);
  engine.before = well;
  expect(await isCreated(1)).toBe(true);
  await after(1000);
  expect(store.obstacle()).toBe("disk_full");
});

test.each<[string, milliseconds: number, Given, Obstacle | undefined]>([
  ["slow is no obstacle", 2900, {}, undefined],
  ["silent as long as a caller waits is one", 3000, {}, "unwritable"],
  ["silent since a commit that ended while a caller waited is one", 3090, {}, "unwritable"],
  ["in which a probe succeeds has none", 3000, { probed: well }, undefined],
  ["full at first has that alone", 3000, { openedWith: new Error("disk_full") }, "disk_full"],
])("a store that is %s, and is created when it goes on", async (_, ms, given, obstacle) => {
  const slow = Promise.withResolvers<void>();
  const wait = () => slow.promise;
  const { engine, store, isCreated, after } = open({ before: wait, probed: wait, ...given });
  if (ms > 3000) {
    engine.before = () => new Promise((end) => void setTimeout(end, 50));
    void isCreated(2);
    await after(10);
    engine.before = wait;
  }
  const creating = isCreated(1);
  await after(ms);
  expect(store.obstacle()).toBe(obstacle);
  slow.resolve();
  expect(await creating).toBe(ms < 3000);
  await after(250);
  expect(store.obstacle()).toBeUndefined();
  const [isKept] = await Promise.all([isCreated(1), after(100)]);
  expect(isKept).toBe(true);
});

test("a commit that fails during an inspection is followed by a probe at once", async () => {
  const inspecting = Promise.withResolvers<void>();
  const { store, isCreated, after } = open({
    ...{ before: full, probed: full, inspected: () => inspecting.promise },
  });
  await after(2000);
  expect(await isCreated(1)).toBe(false);
  inspecting.resolve();
  await after(1);
  expect(store.obstacle()).toBe("disk_full");
});

test("a database without durability is detected without a plant, and gets none until it is fixed", async () => {
  const { engine, store, told, isCreated, after } = open({ inspected: unsafe, probed: unsafe });
  await after(2000);
  expect(store.obstacle()).toBe("not_durable");
  expect(engine.probes).toBe(0);
  const refused = { code: "unavailable", cause: { code: "not_durable" } };
  await expect(store.create(plantOf(1))).rejects.toMatchObject(refused);
  expect(engine.commits).toEqual([]);
  engine.probed = well;
  await after(250);
  expect(store.obstacle()).toBeUndefined();
  expect(await isCreated(1)).toBe(true);
  expect(told.map(([obstacle]) => obstacle)).toEqual(["not_durable", undefined]);
});

test("a commit that finds no durability is the last, before any probe", async () => {
  const probing = Promise.withResolvers<void>();
  const { engine, store, isCreated } = open({ before: unsafe, probed: () => probing.promise });
  expect(await isCreated(1)).toBe(false);
  expect(store.obstacle()).toBe("not_durable");
  expect(await isCreated(2)).toBe(false);
  expect(engine.commits).toHaveLength(1);
  probing.resolve();
});

test("a failed inspection decides nothing; a probe does", async () => {
  const { engine, store, isCreated, after } = open({ inspected: full });
  expect(await isCreated(1)).toBe(true);
  await after(1999);
  expect(engine.probes).toBe(0);
  await after(2);
  expect(engine.probes).toBe(1);
  expect(store.obstacle()).toBeUndefined();
});

test.each(["a commit", "an inspection"])(
  "a server that was away, as %s has found, and stores nothing when it is back, is not ready",
  async (what) => {
    const standing = Promise.withResolvers<void>();
    const stand = () => standing.promise;
    const lost = () => {
      Object.assign(engine, { knows: "unreachable", before: stand, inspected: well });
      throw new Error("unreachable");
    };
    const times = { retryLimitMs: 10_000, backoffMinMs: 10, backoffMaxMs: 100 };
    const retries = { ...times, mayHelp: () => true, isSilent: () => false };
    const failing = what === "a commit" ? { before: lost } : { inspected: lost };
    const { engine, store, isCreated, after } = open({ ...failing, probed: stand, retries });
    onTestFinished(() => standing.resolve());
    const creating = what === "a commit" && isCreated(1);
    await after(2000);
    expect(store.obstacle()).toBe("unreachable");
    engine.knows = undefined;
    await after(500);
    expect(store.obstacle()).toBe("unreachable");
    standing.resolve();
    await after(0);
    expect([await creating, store.obstacle()]).toEqual([what === "a commit", undefined]);
  },
);

test("nothing is checked after the end, although a commit fails", async () => {
  const committing = Promise.withResolvers<void>();
  const { engine, store, isCreated, after } = open({ before: () => committing.promise.then(full) });
  const creating = isCreated(1);
  const closing = store.close();
  committing.resolve();
  expect(await creating).toBe(false);
  await closing;
  await after(60_000);
  expect(engine.probes).toBe(0);
  expect(store.obstacle()).toBe("closed");
});

test("what a check finds during the stop is not reported, and there is one check at a time", async () => {
  const checking = Promise.withResolvers<never>();
  const { engine, store, told, isCreated, after } = open({
    ...{ before: full, probed: () => checking.promise },
  });
  for (const id of [1, 2]) await isCreated(id);
  expect(engine.probes).toBe(1);
  const closing = store.close();
  checking.reject(new Error("disk_full"));
  await closing;
  await after(100);
  expect(told).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
