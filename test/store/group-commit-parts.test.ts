/** Parts of a database that fail or hang by themselves, such as the nodes of a cluster. */
import { describe, expect, test } from "vitest";
import type { CommitLimits } from "../../src/store/options.ts";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin, turns } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

const overloaded = { code: "overloaded" };

describe("two parts", () => {
  const beginTwo = (limits: Partial<CommitLimits> = {}) =>
    begin(limits, { partOf: (id) => (id % 2n === 0n ? "even" : "odd") });

  test("have their own commits", async () => {
    const { submit, begun } = beginTwo();
    for (let id = 0; id < 6; id++) void submit(id);
    await turns();
    expect(begun.map(({ part, ids }) => [part, ids])).toEqual([
      ["even", [0n, 2n, 4n]],
      ["odd", [1n, 3n, 5n]],
    ]);
  });

  test.each([
    ["rows", { waitingRowsMax: 6 }],
    ["bytes", { waitingBytesMax: 6 * heapBytes(plantOf(0)) }],
  ])("share the limit of %s: one that hangs leaves the other its half", async (_, limits) => {
    const { group, submit, nextCommit } = beginTwo(limits);
    for (const id of [0, 1]) void submit(id);
    const [even] = [await nextCommit(), await nextCommit()];
    for (const id of [2, 4, 6]) void submit(id);
    await expect(submit(8)).rejects.toMatchObject(overloaded);
    expect(group.isFull()).toBe(false);
    for (const id of [3, 5, 7]) void submit(id);
    await expect(submit(9)).rejects.toMatchObject(overloaded);
    expect(group.isFull()).toBe(true);
    even?.succeed();
    expect((await nextCommit()).ids).toEqual([2n, 4n, 6n]);
    expect(group.isFull()).toBe(false);
  });

  test("are full together at the limit, also for a part that had no plant yet", async () => {
    const { group, submit, nextCommit } = beginTwo({ waitingRowsMax: 4 });
    void submit(0);
    const even = await nextCommit();
    for (const id of [2, 4, 6, 8]) void submit(id);
    expect(group.isFull()).toBe(true);
    await expect(submit(1)).rejects.toMatchObject(overloaded);
    even.succeed();
    await nextCommit();
    expect(group.isFull()).toBe(false);
  });

  test("accept a plant that is larger than a share, but not larger than the limit", async () => {
    const { submit } = beginTwo({ waitingBytesMax: 10_000 });
    for (const id of [0, 1]) void submit(id);
    await turns();
    const large = (id: number) => submit({ ...plantOf(id), name: "x".repeat(4000) });
    void large(2);
    await expect(large(3)).rejects.toMatchObject(overloaded);
  });

  test("are both drained", async () => {
    const { group, submit, nextCommit } = beginTwo();
    for (const id of [0, 1]) void submit(id);
    const commits = [await nextCommit(), await nextCommit()];
    const ends: string[] = [];
    const drained = group.drain().then(() => ends.push("drained"));
    commits[0]?.succeed();
    await turns();
    expect(ends).toEqual([]);
    commits[1]?.succeed();
    await drained;
  });
});
