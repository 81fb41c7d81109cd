/** How long a queue waits for callers that were just answered. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BatchEngine } from "../../src/store/engine.ts";
import { begin } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const exclusive: Partial<BatchEngine> = { commitsMax: 1, commitsAhead: 1 };

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

/** Ten callers have shared a commit that took this long. */
async function afterCommit(durationMs: number, engine = exclusive) {
  const opened = begin({}, engine);
  const submit = (id: number) => opened.group.submit(plantOf(BigInt(id)));
  const callers = Promise.all(Array.from({ length: 10 }, (_, id) => submit(id)));
  const commit = await opened.nextCommit();
  vi.advanceTimersByTime(durationMs);
  commit.succeed();
  await callers;
  return { ...opened, submit };
}

test.each([
  ["fast, half of the callers share one", 0.1, 5],
  ["slow, all share it", 60, 10],
])("if commits are %s", async (_, durationMs, rows) => {
  const { submit, nextCommit, begun } = await afterCommit(durationMs);
  for (let id = 1; id < rows; id++) void submit(id);
  // The rest of this turn is over only for a queue that waits for more.
  if (durationMs > 1) await turns();
  expect(begun).toEqual([]);
  void submit(rows);
  expect((await nextCommit()).ids).toHaveLength(rows);
});

test("slow commits do not wait long for callers that do not come again", async () => {
  const { submit, nextCommit, begun } = await afterCommit(60);
  void submit(20);
  await turns();
  expect(begun).toEqual([]);
  vi.advanceTimersByTime(1);
  expect((await nextCommit()).ids).toEqual([20n]);
});

test("slow commits that run in parallel wait for nobody", async () => {
  const { submit, nextCommit } = await afterCommit(60, { commitsMax: 2, commitsAhead: 0 });
  void submit(20);
  expect((await nextCommit()).ids).toEqual([20n]);
});

describe("if commits are merged, one with few rows", () => {
  /** Four of ten callers have come again, and five more wait. */
  async function afterSplit(durationMs = 20) {
    const merging = { commitsMax: 2, commitsAhead: 0, mergesCommits: true };
    const opened = await afterCommit(durationMs, merging);
    for (let id = 1; id <= 4; id++) void opened.submit(id);
    vi.advanceTimersByTime(1);
    const first = await opened.nextCommit();
    expect(first.ids).toHaveLength(4);
    for (let id = 5; id <= 9; id++) void opened.submit(id);
    vi.advanceTimersByTime(39);
    await turns();
    expect(opened.begun).toEqual([]);
    return { ...opened, first };
  }

  test("waits for that under way, and then for its callers", async () => {
    const { submit, nextCommit, first, begun } = await afterSplit();
    first.succeed();
    await turns();
    expect(begun).toEqual([]);
    for (let id = 10; id <= 14; id++) void submit(id);
    expect((await nextCommit()).ids).toHaveLength(10);
  });

  test.each([
    ["twice as long as the last one took", 20, 1],
    ["100 ms", 60_000, 61],
  ])("waits no longer than %s", async (_, durationMs, restMs) => {
    const { nextCommit, begun } = await afterSplit(durationMs);
    vi.advanceTimersByTime(restMs - 1);
    await turns();
    expect(begun).toEqual([]);
    vi.advanceTimersByTime(1);
    expect((await nextCommit()).ids).toHaveLength(5);
  });

  test("waits no longer for callers that do not come again", async () => {
    const { nextCommit, first } = await afterSplit();
    first.succeed();
    await turns();
    vi.advanceTimersByTime(1);
    expect((await nextCommit()).ids).toHaveLength(5);
  });

  test("begins at once as soon as it has enough", async () => {
    const { submit, nextCommit } = await afterSplit();
    for (let id = 10; id <= 14; id++) void submit(id);
    expect((await nextCommit()).ids).toHaveLength(10);
  });
});

test("a lone caller has its commit at once", async () => {
  const { group, nextCommit, begun } = begin({}, exclusive);
  const first = group.submit(plantOf(1n));
  const commit = await nextCommit();
  vi.advanceTimersByTime(60);
  commit.succeed();
  await first;
  void group.submit(plantOf(2n));
  expect(begun).toHaveLength(1);
});

test("the next commit is taken ahead as soon as it has enough rows, and no other", async () => {
  const { submit, nextCommit, begun } = await afterCommit(0.1);
  for (let id = 0; id < 20; id++) void submit(id);
  expect(begun.map(({ ids }) => ids.length)).toEqual([5, 5]);
  (await nextCommit()).succeed();
  await turns();
  expect(begun.map(({ ids }) => ids.length)).toEqual([5, 10]);
});

test("a slow commit is not mistaken for two slow ones by the next that waits behind it", async () => {
  const { submit, nextCommit, begun } = await afterCommit(0.1);
  for (let id = 0; id < 10; id++) void submit(id);
  const [first, ahead] = [await nextCommit(), await nextCommit()];
  vi.advanceTimersByTime(0.8);
  first.succeed();
  await turns();
  vi.advanceTimersByTime(0.8);
  ahead.succeed();
  await turns();
  void submit(20);
  await turns();
  expect(begun.map(({ ids }) => ids)).toEqual([[20n]]);
});
