/** Parts of a database that fail or hang by themselves, such as the nodes of a cluster. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { CommitLimits } from "../../src/store/options.ts";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

describe("two parts", () => {
  const beginTwo = (limits: Partial<CommitLimits> = {}) =>
    begin(limits, { partOf: (id) => (id % 2n === 0n ? "even" : "odd") });

  test("have their own commits", async () => {
    const { group, begun } = beginTwo();
    for (let id = 0n; id < 6n; id++) void group.submit(plantOf(id));
    await turns();
    expect(begun.map(({ part, ids }) => [part, ids])).toEqual([
      ["even", [0n, 2n, 4n]],
      ["odd", [1n, 3n, 5n]],
    ]);
  });

  test("do not wait for each other", async () => {
    const { group, nextCommit, begun } = beginTwo();
    void group.submit(plantOf(0n));
    expect((await nextCommit()).part).toBe("even");
    for (let id = 1n; id < 100n; id += 2n) {
      void group.submit(plantOf(id + 1n));
      const created = group.submit(plantOf(id));
      (await nextCommit()).succeed();
      expect(await created).toBe("created");
    }
    expect(begun).toEqual([]);
  });

  test.each([
    ["rows", { waitingRowsMax: 6 }],
    ["bytes", { waitingBytesMax: 6 * heapBytes(plantOf(0n)) }],
  ])(
    "share the queue's limit of %s: one that hangs leaves the other its half",
    async (_, limits) => {
      const { group, nextCommit } = beginTwo(limits);
      for (const id of [0n, 1n]) void group.submit(plantOf(id));
      const [even] = [await nextCommit(), await nextCommit()];
      for (const id of [2n, 4n, 6n]) void group.submit(plantOf(id));
      await expect(group.submit(plantOf(8n))).rejects.toMatchObject({ code: "overloaded" });
      expect(group.isFull()).toBe(false);
      for (const id of [3n, 5n, 7n]) void group.submit(plantOf(id));
      await expect(group.submit(plantOf(9n))).rejects.toMatchObject({ code: "overloaded" });
      expect(group.isFull()).toBe(true);
      even?.succeed();
      expect((await nextCommit()).ids).toEqual([2n, 4n, 6n]);
      expect(group.isFull()).toBe(false);
    },
  );

  test("are full together at the limit, also for a part that had no plant yet", async () => {
    const { group, nextCommit } = beginTwo({ waitingRowsMax: 4 });
    void group.submit(plantOf(0n));
    const even = await nextCommit();
    for (const id of [2n, 4n, 6n, 8n]) void group.submit(plantOf(id));
    expect(group.isFull()).toBe(true);
    await expect(group.submit(plantOf(1n))).rejects.toMatchObject({ code: "overloaded" });
    even.succeed();
    await nextCommit();
    expect(group.isFull()).toBe(false);
  });

  test("accept a plant that is larger than a share, but not larger than the limit", async () => {
    const { group } = beginTwo({ waitingBytesMax: 10_000 });
    for (const id of [0n, 1n]) void group.submit(plantOf(id));
    await turns();
    void group.submit({ ...plantOf(2n), name: "x".repeat(4000) });
    const another = { ...plantOf(3n), name: "x".repeat(4000) };
    await expect(group.submit(another)).rejects.toMatchObject({ code: "overloaded" });
  });

  test("are both drained", async () => {
    const { group, nextCommit } = beginTwo();
    for (const id of [0n, 1n]) void group.submit(plantOf(id));
    const commits = [await nextCommit(), await nextCommit()];
    let isDrained = false;
    const drained = group.drain().then(() => {
      isDrained = true;
    });
    commits[0]?.succeed();
    await turns();
    expect(isDrained).toBe(false);
    commits[1]?.succeed();
    await drained;
  });
});
