import { expect, test } from "vitest";
import { createBatchedStore } from "../../src/store/batched-store.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { plantOf } from "./plant-of.ts";

test.each([
  ["an id above int64", { id: 2n ** 63n }, "id"],
  ["an id below int64", { id: -(2n ** 63n) - 1n }, "id"],
  ["a lone surrogate", { name: "\ud800" }, "name"],
  ["U+0000", { tag: "a\0" }, "tag"],
])("%s is rejected, not changed into another plant", async (_, wrong, field) => {
  const engine = new MemoryEngine();
  const creating = createBatchedStore(engine).create({ ...plantOf(1), ...wrong });
  await expect(creating).rejects.toMatchObject({ code: "invalid", field });
  expect(engine.commits).toEqual([]);
});
