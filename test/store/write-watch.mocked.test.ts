/** When a store reports that it is not writable, with an engine controlled by the test. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Obstacle } from "../../src/plant.ts";
import { BatchedStore } from "../../src/store/batched-store.ts";
import { StoreOpenError } from "../../src/store/open-error.ts";
import { defaultLimits } from "../../src/store/options.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";

// The test runs the timers itself, from the first tick on.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const full = () => {
  throw new Error("disk_full");
};
const forgetful = () => {
  throw new StoreOpenError("not_durable", "not_durable");
};
const well = () => {};

function open(openedWith?: Error) {
  const engine = Object.assign(new MemoryEngine(), { openedWith });
  const told: [Obstacle | undefined, unknown][] = [];
  const onObstacle = (...change: [Obstacle | undefined, unknown]) => void told.push(change);
  const times = { inspectIntervalMs: 2000, backoffMinMs: 250, backoffMaxMs: 5000 };
  const store = new BatchedStore(engine, defaultLimits, { onObstacle }, times);
  onTestFinished(() => store.close());
  const create = (id: bigint) => store.create(plantOf(id)).catch(() => "failed");
  return { engine, store, told, create, after: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test("an obstacle that is there at the start is told at once, and probed soon", async () => {
  const cause = new Error("disk_full");
  const { engine, store, told, after } = open(cause);
  expect([store.obstacle(), told]).toEqual(["disk_full", [["disk_full", cause]]]);
  await after(249);
  expect(engine.probes).toBe(0);
  await after(1);
  expect(engine.probes).toBe(1);
  expect([store.obstacle(), told.at(-1)]).toEqual([undefined, [undefined, undefined]]);
});

test("one failed commit changes nothing while a probe succeeds", async () => {
  const { engine, store, told, create, after } = open();
  engine.before = full;
  for (const id of [1n, 2n, 3n]) expect(await create(id)).toBe("failed");
  await after(0);
  expect(engine.probes).toBeGreaterThan(0);
  expect(store.obstacle()).toBeUndefined();
  expect(told).toEqual([]);
});

test("a failed commit and probe are reported once, and so is the recovery", async () => {
  const { engine, store, told, create, after } = open();
  engine.before = full;
  engine.probed = full;
  for (const id of [1n, 2n, 3n]) {
    expect(await create(id)).toBe("failed");
    await after(0);
    expect(store.obstacle()).toBe("disk_full");
  }
  await after(20_000);
  engine.before = well;
  engine.probed = well;
  await after(5000);
  expect(store.obstacle()).toBeUndefined();
  expect(told).toEqual([
    ["disk_full", new Error("disk_full")],
    [undefined, undefined],
  ]);
});

test("probes run at once, soon, and then less and less often", async () => {
  const { engine, create, after } = open();
  engine.before = full;
  engine.probed = full;
  await create(1n);
  await after(1000);
  expect(engine.probes).toBeGreaterThanOrEqual(3);
  await after(59_000);
  expect(engine.probes).toBeLessThan(35);
});

test("creates are tried without waiting for the next probe; a success brings it forward", async () => {
  const { engine, store, create, after } = open();
  engine.before = full;
  engine.probed = full;
  await create(1n);
  await after(30_000);
  engine.before = well;
  engine.probed = well;
  expect(await create(1n)).toMatchObject({ name: plantOf(1n).name });
  await after(250);
  expect(store.obstacle()).toBeUndefined();
});

test("a series of successful creates does not delay the probe", async () => {
  const { engine, store, create, after } = open();
  engine.before = full;
  engine.probed = full;
  await create(1n);
  await after(30_000);
  engine.before = well;
  engine.probed = well;
  for (const id of [1n, 2n, 3n]) {
    await create(id);
    await after(100);
  }
  expect(store.obstacle()).toBeUndefined();
});

test("a successful create proves nothing: it may have existed before", async () => {
  const { engine, store, create, after } = open();
  await create(1n);
  engine.before = full;
  engine.probed = full;
  await create(2n);
  await after(0);
  engine.before = well;
  await create(1n);
  await after(1000);
  expect(store.obstacle()).toBe("disk_full");
});

test("a slow commit and a slow probe are not failures", async () => {
  const { engine, store, create, after } = open();
  const slow = Promise.withResolvers<void>();
  engine.before = () => slow.promise;
  engine.probed = () => slow.promise;
  const creating = create(1n);
  await after(600_000);
  expect(store.obstacle()).toBeUndefined();
  slow.resolve();
  expect(await creating).not.toBe("failed");
});

test("a database without durability is detected without a plant, and gets none until it is fixed", async () => {
  const { engine, store, told, create, after } = open();
  engine.inspected = forgetful;
  engine.probed = forgetful;
  await after(2000);
  expect(store.obstacle()).toBe("not_durable");
  expect(engine.probes).toBe(0);
  expect(await create(1n)).toBe("failed");
  expect(engine.commits).toEqual([]);
  engine.probed = well;
  await after(250);
  expect(store.obstacle()).toBeUndefined();
  expect(await create(1n)).not.toBe("failed");
  expect(told.map(([obstacle]) => obstacle)).toEqual(["not_durable", undefined]);
});

test("a commit that finds no durability is the last, before any probe", async () => {
  const { engine, store, create } = open();
  const probing = Promise.withResolvers<void>();
  engine.before = forgetful;
  engine.probed = () => probing.promise;
  expect(await create(1n)).toBe("failed");
  expect(store.obstacle()).toBe("not_durable");
  expect(await create(2n)).toBe("failed");
  expect(engine.commits).toHaveLength(1);
  probing.resolve();
});

test("a failed inspection decides nothing; a probe does", async () => {
  const { engine, store, after } = open();
  engine.inspected = full;
  await after(2000);
  await after(1);
  expect(engine.probes).toBe(1);
  expect(store.obstacle()).toBeUndefined();
});

test("nothing is checked after the end", async () => {
  const { engine, store, after } = open();
  await store.close();
  engine.inspected = forgetful;
  await after(60_000);
  expect(store.obstacle()).toBe("closed");
  expect(vi.getTimerCount()).toBe(0);
});

test("a doubt ends with the probe that refutes it: an idle store is only inspected", async () => {
  const { engine, create, after } = open();
  engine.before = full;
  await create(1n);
  await after(0);
  const { probes } = engine;
  await after(60_000);
  expect(engine.probes).toBe(probes);
});

test("a database that the engine cannot reach is probed less and less often", async () => {
  const { engine, store, create, after } = open();
  engine.before = full;
  engine.probed = full;
  engine.knows = "unreachable";
  await create(1n);
  await after(60_000);
  expect(engine.probes).toBeGreaterThan(5);
  expect(engine.probes).toBeLessThan(35);
  // The engine is the first to know when it is back.
  engine.probed = well;
  engine.knows = undefined;
  await after(250);
  expect(store.obstacle()).toBeUndefined();
});

test("what a check finds during the stop is not reported", async () => {
  const { engine, store, told, create } = open();
  const checking = Promise.withResolvers<never>();
  engine.before = full;
  engine.probed = () => checking.promise;
  await create(1n);
  const closing = store.close();
  checking.reject(new Error("disk_full"));
  await closing;
  expect(told).toEqual([]);
});
