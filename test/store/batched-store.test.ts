import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { NewPlant, Plant } from "../../src/plant.ts";
import { BatchedStore } from "../../src/store/batched-store.ts";
import { defaultLimits } from "../../src/store/options.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";
import { storeSuite } from "./suite.ts";

// Runs the suite over the simplest possible engine, so that it asks for nothing that only one
// database has.
storeSuite("memory", async () => {
  const plants = new Map<bigint, Plant>();
  return async () => new BatchedStore(new MemoryEngine(plants), defaultLimits);
});

function openMemory() {
  const engine = new MemoryEngine();
  return { engine, store: new BatchedStore(engine, defaultLimits) };
}

describe("a commit that fails", () => {
  const disk = () => {
    throw new Error("disk");
  };

  test.each<[string, "before" | "after", number]>([
    ["failed", "before", 0],
    ["reported a failure but persisted", "after", 2],
  ])(
    "%s: its plants are unavailable, and the same calls succeed on retry",
    async (_, when, kept) => {
      const { engine, store } = openMemory();
      engine[when] = disk;
      const plants = [plantOf(1n), plantOf(2n)];
      const results = await Promise.allSettled(plants.map((plant) => store.create(plant)));
      for (const result of results) {
        expect(result).toMatchObject({
          reason: { code: "unavailable", cause: { message: "disk" } },
        });
      }
      expect(engine.plants.size).toBe(kept);

      engine[when] = () => {};
      await Promise.all(plants.map((plant) => store.create(plant)));
      expect(engine.plants.size).toBe(2);
    },
  );

  test("keeps an id for the plant that it may have stored", async () => {
    const { engine, store } = openMemory();
    engine.after = disk;
    await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
    engine.after = () => {};
    const other = { ...plantOf(1n), name: "another" };
    await expect(store.create(other)).rejects.toMatchObject({ code: "id_taken" });
  });
});

test.each<[string, NewPlant, string]>([
  ["an id above int64", { id: 2n ** 63n, name: "", tag: undefined }, "id"],
  ["an id below int64", { id: -(2n ** 63n) - 1n, name: "", tag: undefined }, "id"],
  ["a lone surrogate", { id: 1n, name: "\ud800", tag: undefined }, "name"],
  ["U+0000", { id: 1n, name: "", tag: "a\0" }, "tag"],
])("%s is rejected, not changed into another plant", async (_, plant, field) => {
  const { engine, store } = openMemory();
  await expect(store.create(plant)).rejects.toMatchObject({ code: "invalid", field });
  expect(engine.commits).toEqual([]);
});

test("close waits for a stalled commit without blocking anything else", async () => {
  const { engine, store } = openMemory();
  const stall = Promise.withResolvers<void>();
  engine.before = () => stall.promise;
  const staying = store.create(plantOf(1n));
  const controller = new AbortController();
  const leaving = store.create(plantOf(2n), controller.signal);
  let closed = false;
  const closing = store.close().then(() => {
    closed = true;
  });
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  controller.abort("deadline");
  await expect(leaving).rejects.toBe("deadline");
  await expect(store.create(plantOf(3n))).rejects.toMatchObject({ code: "unavailable" });
  expect(closed).toBe(false);
  expect(engine.closed).toBe(0);
  stall.resolve();
  await staying;
  await closing;
  expect(engine.closed).toBe(1);
});

test("reports the obstacle that the engine knows of", () => {
  const { engine, store } = openMemory();
  expect(store.obstacle()).toBeUndefined();
  engine.knows = "unreachable";
  expect(store.obstacle()).toBe("unreachable");
});
