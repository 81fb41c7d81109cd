import { describe, expect, test } from "vitest";
import type { Plant } from "../../src/plant.ts";
import { BatchedStore } from "../../src/store/batched-store.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";
import { storeSuite } from "./suite.ts";

// Runs the suite over the simplest possible engine, so that it asks for nothing that only one
// database has.
storeSuite("memory", async () => {
  const plants = new Map<bigint, Plant>();
  return async () => new BatchedStore(new MemoryEngine(plants));
});

function openMemory() {
  const engine = new MemoryEngine();
  return { engine, store: new BatchedStore(engine) };
}

describe("a commit that fails", () => {
  const disk = () => {
    throw new Error("disk");
  };

  test.each([
    ["failed", "before", 0],
    ["reported a failure but persisted", "after", 2],
  ] as const)(
    "%s: its plants are unavailable, and the same calls succeed on retry",
    async (_, when, kept) => {
      const { engine, store } = openMemory();
      engine[when] = disk;
      const plants = [plantOf(1), plantOf(2)];
      const results = await Promise.allSettled(plants.map((plant) => store.create(plant)));
      const reason = { code: "unavailable", cause: { message: "disk" } };
      expect(results).toMatchObject([{ reason }, { reason }]);
      expect(engine.plants.size).toBe(kept);
      engine[when] = () => {};
      await Promise.all(plants.map((plant) => store.create(plant)));
      expect(engine.plants.size).toBe(2);
    },
  );
});

test.each([
  ["an id above int64", { id: 2n ** 63n }, "id"],
  ["an id below int64", { id: -(2n ** 63n) - 1n }, "id"],
  ["a lone surrogate", { name: "\ud800" }, "name"],
  ["U+0000", { tag: "a\0" }, "tag"],
])("%s is rejected, not changed into another plant", async (_, wrong, field) => {
  const { engine, store } = openMemory();
  const creating = store.create({ ...plantOf(1), ...wrong });
  await expect(creating).rejects.toMatchObject({ code: "invalid", field });
  expect(engine.commits).toEqual([]);
});
