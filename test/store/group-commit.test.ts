import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin, type OpenCommit, ofRow, turns } from "./open-commits.ts";
import { plantOf, plantsOf } from "./plant-of.ts";

describe("commits are shared", () => {
  test("by 32 plants as soon as they arrive, and by the rest up to the limit of rows", async () => {
    const { submit, begun, nextSizes } = begin();
    for (let id = 0; id < 32; id++) void submit(id);
    expect(begun).toHaveLength(1);
    for (let id = 32; id < 1000; id++) void submit(id);
    expect(await nextSizes(3)).toEqual([32, 512, 456]);
  });

  test("up to the limit of bytes; a larger plant is committed alone", async () => {
    const { submit, nextSizes } = begin({ batchBytesMax: 3 * heapBytes(plantOf(0)) });
    for (let row = 0; row < 4; row++) void submit(0);
    void submit({ ...plantOf(9), name: "x".repeat(10_000) });
    void submit(0);
    expect(await nextSizes(4)).toEqual([3, 1, 1, 1]);
  });

  test("but each caller has its own result, and none before the commit has returned", async () => {
    const { submit, nextCommit } = begin();
    const answered: string[] = [];
    const all = [0, 1, 2].map(async (id) => answered.push(await submit(id)));
    const commit = await nextCommit();
    await turns();
    expect(answered).toEqual([]);
    commit.succeed(["created", "id_taken", "created"]);
    await Promise.all(all);
    expect(answered).toEqual(["created", "id_taken", "created"]);
  });
});

describe("an engine with parallel commits", () => {
  test("gets a burst in that many commits, and no more", async () => {
    const { submit, nextCommit, begun } = begin({}, { commitsMax: 2 });
    for (let id = 0; id < 40; id++) void submit(id);
    for (let turn = 0; turn < 2; turn++) await nextTurn();
    for (let id = 40; id < 100; id++) void submit(id);
    await turns();
    expect(begun.map(({ ids }) => ids.length)).toEqual([32, 8]);
    for (const commit of begun.splice(0)) commit.succeed();
    expect((await nextCommit()).ids).toHaveLength(60);
  });

  test("gets the next plant at once, up to that number; then waiting plants share a commit", async () => {
    const { submit, nextCommit, begun } = begin({}, { commitsMax: 2 });
    const all = [submit(0)];
    const first = await nextCommit();
    all.push(submit(1));
    const second = await nextCommit();
    for (const id of [2, 3]) all.push(submit(id));
    await turns();
    expect(begun).toEqual([]);
    second.succeed();
    const third = await nextCommit();
    expect([first.ids, second.ids, third.ids]).toEqual([[0n], [1n], [2n, 3n]]);
    third.succeed(["created", "id_taken"]);
    first.fail(new Error("disk"));
    const outcomes = all.map((one) => one.catch((error) => error.code));
    expect(await Promise.all(outcomes)).toEqual(["unavailable", "created", "created", "id_taken"]);
  });
});

test.each<[string, (commit: OpenCommit) => void]>([
  ["by itself", (commit) => commit.fail(new Error("disk"))],
  ["with too few outcomes", (commit) => commit.succeed(["created"])],
  ["with too many outcomes", (commit) => commit.succeed(["created", "created", "created"])],
])("a commit that fails %s makes its plants unavailable; the next one works", async (_, end) => {
  const { submit, nextCommit } = begin();
  const all = Promise.allSettled([submit(0), submit(1)]);
  const commit = await nextCommit();
  const later = submit(2);
  end(commit);
  const reason = { name: "PlantError", code: "unavailable", cause: expect.any(Error) };
  expect(await all).toMatchObject(Array(2).fill({ reason }));
  (await nextCommit()).succeed();
  expect(await later).toBe("created");
});

test("rows that cannot be stored are rejected alone, and that is no failure of the store", async () => {
  const observer = { commitEnded: vi.fn(), queueChanged() {} };
  const { group, submit, begun, told } = begin({}, {}, observer);
  const leaving = new AbortController();
  const all = Promise.allSettled(plantsOf(16).map(({ id }) => submit(Number(id))));
  const left = Promise.allSettled([submit(16, leaving.signal)]);
  const drained = group.drain();
  for (let commits = 0; commits < 17; commits++) {
    await turns();
    const commit = begun.shift();
    leaving.abort("left");
    if (commit?.ids.some((id) => id === 3n || id === 16n)) commit.fail(ofRow);
    else commit?.succeed(commit.ids.map((id) => (id === 9n ? ofRow : "created")));
  }
  await drained;
  const rejected = { reason: { code: "unavailable", cause: ofRow } };
  const stored = { value: "created" };
  const outcomes = plantsOf(16).map(({ id }) => (id === 3n || id === 9n ? rejected : stored));
  expect(await all).toMatchObject(outcomes);
  expect(await left).toMatchObject([{ reason: "left" }]);
  expect(new Set(told)).toEqual(new Set(["succeeded"]));
  expect(observer.commitEnded.mock.calls.some(([{ isFailed }]) => isFailed)).toBe(false);
});

describe("drain", () => {
  test("waits for all parallel commits, and if called twice, for plants that are ready", async () => {
    const { group, submit, nextCommit } = begin({}, { commitsMax: 2 });
    const ends: string[] = [];
    for (let id = 0; id < 70; id++) void submit(id);
    const commits = [await nextCommit(), await nextCommit()];
    const drained = [1, 2].map((n) => group.drain().then(() => ends.push(`${n}`)));
    commits[1]?.succeed();
    (await nextCommit()).succeed();
    await turns();
    expect(ends).toEqual([]);
    commits[0]?.succeed();
    await Promise.all(drained);
    expect(ends).toEqual(["1", "2"]);
  });

  test("does not wait for a commit whose callers have left: it may hang", async () => {
    const { group, submit, nextCommit } = begin();
    const leaving = new AbortController();
    const left = submit(1, leaving.signal);
    await nextCommit();
    leaving.abort("left");
    await expect(left).rejects.toBe("left");
    await group.drain();
  });
});
