/** The commit queue: its limits, and callers that leave it. */
import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openCollector } from "../../packages/gateway/test/support/collect-garbage.ts";
import type { CommitLimits } from "../../src/store/options.ts";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin, type OpenCommit, ofRow, turns } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

const overloaded = { code: "overloaded" };

describe("above a limit, a plant is rejected at once as overloaded and not written", () => {
  const size = heapBytes(plantOf(0));
  const named = (length: number) => ({ ...plantOf(0), name: "x".repeat(length) });

  test.each<[string, Partial<CommitLimits>]>([
    ["rows", { waitingRowsMax: 3 }],
    ["bytes", { waitingBytesMax: 3 * size }],
  ])("of %s that wait, until some have been taken", async (_, limits) => {
    const { group, submit, nextCommit } = begin(limits);
    void submit(0);
    const first = await nextCommit();
    expect(group.isFull()).toBe(false);
    for (const id of [2, 4, 6]) void submit(id);
    await expect(submit(8)).rejects.toMatchObject(overloaded);
    expect(group.isFull()).toBe(true);
    first.succeed();
    const second = await nextCommit();
    expect(second.ids).toEqual([2n, 4n, 6n]);
    expect(group.isFull()).toBe(false);
    void submit(8);
    second.succeed();
    expect((await nextCommit()).ids).toEqual([8n]);
  });

  test("a plant larger than the whole queue is rejected even if the queue is empty", async () => {
    const { group } = begin({ waitingBytesMax: size });
    await expect(group.submit(named(1000))).rejects.toMatchObject(overloaded);
  });

  test.each([
    ["16,384 rows", 16_384, 0],
    ["64 MiB", 2, 15 * 1024 * 1024],
  ])("the default is %s", async (_, count, length) => {
    const { submit, nextCommit } = begin();
    void submit(0);
    await nextCommit();
    const plant = named(length);
    for (let row = 0; row < count; row++) void submit(plant);
    await expect(submit(plant)).rejects.toMatchObject(overloaded);
  });
});

describe("a caller that gives up", () => {
  const reason = new Error("too late");

  function beginLeaving(limits: Partial<CommitLimits> = {}) {
    const controller = new AbortController();
    const { signal } = controller;
    return { ...begin(limits), signal, leave: () => controller.abort(reason) };
  }

  test("while it waits frees its place in the queue at once", async () => {
    const limits = { waitingRowsMax: 2, waitingBytesMax: 10_000 };
    const { submit, nextCommit, signal, leave } = beginLeaving(limits);
    void submit(0);
    const first = await nextCommit();
    const leaving = submit({ ...plantOf(2), name: "x".repeat(4000) }, signal);
    void submit(4);
    leave();
    await expect(leaving).rejects.toBe(reason);
    void submit({ ...plantOf(6), name: "x".repeat(4000) });
    first.succeed();
    expect((await nextCommit()).ids).toEqual([4n, 6n]);
  });

  test("because its time is over frees its place, too", async () => {
    const { submit, nextCommit } = begin({ waitingRowsMax: 1, answerTimeoutMs: 1 });
    void submit(0);
    const first = await nextCommit();
    await expect(submit(2)).rejects.toMatchObject({ code: "unavailable" });
    void submit(4);
    first.succeed();
    expect((await nextCommit()).ids).toEqual([4n]);
  });

  test("with most of the others leaves those that stay, and nothing in memory", async () => {
    const collect = openCollector();
    const { group, submit, nextCommit, signal, leave } = beginLeaving();
    void submit(0);
    const first = await nextCommit();
    const leaving = [2, 4, 6, 8].map((id) => {
      const plant = plantOf(id);
      return { left: group.submit(plant, signal).catch(() => {}), plant: new WeakRef(plant) };
    });
    void submit(10);
    leave();
    for (const { left } of leaving) await left;
    await nextTurn();
    collect();
    expect(leaving.filter(({ plant }) => plant.deref() !== undefined).length).toBeLessThan(2);
    first.succeed();
    expect((await nextCommit()).ids).toEqual([10n]);
  });

  test("while it waits alone, or before, leaves nothing to commit", async () => {
    const { group, submit, begun, nextCommit, signal, leave } = beginLeaving();
    const leaving = submit(0, signal);
    leave();
    await expect(leaving).rejects.toBe(reason);
    void submit(1, signal).catch(() => {});
    await group.drain();
    expect(begun).toEqual([]);
    void submit(2);
    expect((await nextCommit()).ids).toEqual([2n]);
  });

  test("during a commit that fails for one of its rows has no part in the next", async () => {
    const { submit, begun, nextCommit, signal, leave } = beginLeaving();
    const [, staying] = [0, 1, 2, 3].map((id) => submit(id, id === 1 ? undefined : signal));
    const commit = await nextCommit();
    leave();
    commit.fail(ofRow);
    const half = await nextCommit();
    expect(half.ids).toEqual([1n]);
    half.succeed();
    expect(await staying).toBe("created");
    await turns();
    expect(begun).toEqual([]);
  });

  test.each<[string, (commit: OpenCommit, leave: () => void) => void]>([
    ["created", (commit) => commit.succeed()],
    ["refused", (commit) => commit.succeed(["id_taken"])],
    ["failed", (commit) => commit.fail(new Error("disk"))],
    ["given up", (_, leave) => leave()],
  ])("or not: once it was %s, its signal is not heard, and its plant is gone", async (_, end) => {
    const collect = openCollector();
    const { submit, nextCommit, signal, leave } = beginLeaving();
    const plant = new WeakRef(plantOf(0));
    const submitted = submit(plant.deref() ?? 0, signal);
    const commit = await nextCommit();
    end(commit, leave);
    await Promise.allSettled([submitted]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    commit.succeed();
    await nextTurn();
    collect();
    expect(plant.deref()).toBeUndefined();
  });
});
