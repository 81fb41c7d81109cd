/** How long a queue waits for callers that were just answered. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BatchEngine } from "../../src/store/engine.ts";
import { begin, turns } from "./open-commits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const exclusive: Partial<BatchEngine> = { commitsMax: 1, commitsAhead: 1 };

/** Ten callers have shared a commit that took this long. */
async function afterCommit(durationMs: number, engine = exclusive) {
  const opened = begin({}, engine);
  const { submit, nextCommit } = opened;
  const callers = Promise.all(Array.from({ length: 10 }, (_, id) => submit(id)));
  const commit = await nextCommit();
  vi.advanceTimersByTime(durationMs);
  commit.succeed();
  await callers;
  return {
    ...opened,
    submitFrom(first: number, last: number) {
      for (let id = first; id <= last; id++) void submit(id);
    },
    nextRows: async () => (await nextCommit()).ids.length,
  };
}

test.each([
  ["fast, half of the callers share one", 0.1, 5],
  ["slow, all share it", 60, 10],
])("if commits are %s", async (_, durationMs, rows) => {
  const { submitFrom, nextRows, begun } = await afterCommit(durationMs);
  submitFrom(1, rows - 1);
  // The rest of this turn is over only for a queue that waits for more.
  if (durationMs > 1) await turns();
  expect(begun).toEqual([]);
  submitFrom(rows, rows);
  expect(await nextRows()).toBe(rows);
});

describe("if commits are merged, one with few rows", () => {
  /** Four of ten callers have come again, and five more wait. */
  async function afterSplit(durationMs = 20) {
    const merging = { commitsMax: 2, commitsAhead: 0, mergesCommits: true };
    const opened = await afterCommit(durationMs, merging);
    opened.submitFrom(1, 4);
    vi.advanceTimersByTime(1);
    const first = await opened.nextCommit();
    expect(first.ids).toHaveLength(4);
    opened.submitFrom(5, 9);
    vi.advanceTimersByTime(39);
    await turns();
    expect(opened.begun).toEqual([]);
    return { ...opened, first };
  }

  test.each([
    ["twice as long as the last one took", 20, 1],
    ["100 ms", 6000, 61],
  ])("waits no longer than %s", async (_, durationMs, restMs) => {
    const { nextRows, begun } = await afterSplit(durationMs);
    vi.advanceTimersByTime(restMs - 1);
    await turns();
    expect(begun).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(await nextRows()).toBe(5);
  });

  test("begins at once as soon as it has enough", async () => {
    const { submitFrom, nextRows } = await afterSplit();
    submitFrom(10, 14);
    expect(await nextRows()).toBe(10);
  });
});

test("the next commit is taken ahead as soon as it has enough rows, and no other", async () => {
  const { submitFrom, nextCommit, begun } = await afterCommit(0.1);
  submitFrom(0, 19);
  expect(begun.map(({ ids }) => ids.length)).toEqual([5, 5]);
  (await nextCommit()).succeed();
  await turns();
  expect(begun.map(({ ids }) => ids.length)).toEqual([5, 10]);
});

test("a slow commit is not mistaken for two slow ones by the next that waits behind it", async () => {
  const { submitFrom, nextCommit, begun } = await afterCommit(0.1);
  submitFrom(0, 9);
  for (const commit of [await nextCommit(), await nextCommit()]) {
    vi.advanceTimersByTime(0.8);
    commit.succeed();
    await turns();
  }
  submitFrom(20, 20);
  await turns();
  expect(begun.map(({ ids }) => ids)).toEqual([[20n]]);
});
