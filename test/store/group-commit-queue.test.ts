/** The commit queue: its limits, and callers that leave it. */
import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCollector } from "../../packages/gateway/test/support/collect-garbage.ts";
import type { NewPlant } from "../../src/plant.ts";
import { type CommitLimits, resolveLimits } from "../../src/store/options.ts";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin, type OpenCommit } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

describe("above a limit, a plant is rejected at once as overloaded and not written", () => {
  const size = heapBytes(plantOf(0n));

  test.each<[string, Partial<CommitLimits>]>([
    ["rows", { waitingRowsMax: 3 }],
    ["bytes", { waitingBytesMax: 3 * size }],
  ])("of %s that wait, until some have been taken", async (_, limits) => {
    const { group, nextCommit } = begin(limits);
    void group.submit(plantOf(0n));
    const first = await nextCommit();
    expect(group.isFull()).toBe(false);
    for (const id of [2n, 4n, 6n]) void group.submit(plantOf(id));
    await expect(group.submit(plantOf(8n))).rejects.toMatchObject({ code: "overloaded" });
    expect(group.isFull()).toBe(true);
    first.succeed();
    const second = await nextCommit();
    expect(second.ids).toEqual([2n, 4n, 6n]);
    expect(group.isFull()).toBe(false);
    void group.submit(plantOf(8n));
    second.succeed();
    expect((await nextCommit()).ids).toEqual([8n]);
  });

  test("a plant larger than the whole queue is rejected even if the queue is empty", async () => {
    const { group } = begin({ waitingBytesMax: size });
    const large: NewPlant = { ...plantOf(0n), name: "x".repeat(1000) };
    await expect(group.submit(large)).rejects.toMatchObject({ code: "overloaded" });
  });

  test("the default is 16,384 rows", async () => {
    const { group, nextCommit } = begin();
    void group.submit(plantOf(0n));
    await nextCommit();
    for (let id = 0n; id < 16_384n; id++) void group.submit(plantOf(id));
    await expect(group.submit(plantOf(0n))).rejects.toMatchObject({ code: "overloaded" });
  });

  test("the default is 64 MiB", async () => {
    const { group, nextCommit } = begin();
    void group.submit(plantOf(0n));
    await nextCommit();
    const half: NewPlant = { id: 1n, name: "x".repeat(15 * 1024 * 1024), tag: undefined };
    for (let row = 0; row < 2; row++) void group.submit(half);
    await expect(group.submit(half)).rejects.toMatchObject({ code: "overloaded" });
  });

  test.each([0, -1, 1.5, Number.NaN])("%d is not a valid limit", (waitingRowsMax) => {
    expect(() => resolveLimits({ waitingRowsMax })).toThrow(/waitingRowsMax/);
  });
});

describe("a caller that gives up", () => {
  const reason = new Error("too late");

  test("before it starts is not queued", async () => {
    const { group, begun } = begin();
    await expect(group.submit(plantOf(0n), AbortSignal.abort(reason))).rejects.toBe(reason);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(begun).toEqual([]);
  });

  test("while it waits frees its place in the queue at once", async () => {
    const { group, nextCommit } = begin({ waitingRowsMax: 2, waitingBytesMax: 10_000 });
    void group.submit(plantOf(0n));
    const first = await nextCommit();
    const controller = new AbortController();
    const leaving = group.submit({ ...plantOf(2n), name: "x".repeat(4000) }, controller.signal);
    void group.submit(plantOf(4n));
    controller.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    void group.submit({ ...plantOf(6n), name: "x".repeat(4000) });
    first.succeed();
    expect((await nextCommit()).ids).toEqual([4n, 6n]);
  });

  test("with most of the others leaves those that stay, and nothing in memory", async () => {
    const collect = openCollector();
    const { group, nextCommit } = begin();
    void group.submit(plantOf(0n));
    const first = await nextCommit();
    const controller = new AbortController();
    const leave = (id: bigint) => {
      const plant = plantOf(id);
      const left = group.submit(plant, controller.signal).catch(() => {});
      return { left, plant: new WeakRef(plant) };
    };
    const leaving = [2n, 4n, 6n, 8n].map(leave);
    void group.submit(plantOf(10n));
    controller.abort(reason);
    for (const { left } of leaving) await left;
    await nextTurn();
    collect();
    expect(leaving.filter(({ plant }) => plant.deref() !== undefined).length).toBeLessThan(2);
    first.succeed();
    expect((await nextCommit()).ids).toEqual([10n]);
  });

  test("while it waits alone leaves nothing to commit", async () => {
    const { group, begun, nextCommit } = begin();
    const controller = new AbortController();
    const leaving = group.submit(plantOf(0n), controller.signal);
    controller.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    await group.drain();
    expect(begun).toEqual([]);
    void group.submit(plantOf(2n));
    expect((await nextCommit()).ids).toEqual([2n]);
  });

  test("during its commit is released at once, and the others get their outcome", async () => {
    const { group, nextCommit } = begin();
    const controller = new AbortController();
    const leaving = group.submit(plantOf(0n), controller.signal);
    const staying = group.submit(plantOf(1n));
    const commit = await nextCommit();
    controller.abort(reason);
    await expect(leaving).rejects.toBe(reason);
    expect(commit.ids).toEqual([0n, 1n]);
    commit.succeed();
    expect(await staying).toBe("created");
  });

  test.each<[string, (commit: OpenCommit, controller: AbortController) => void]>([
    ["created", (commit) => commit.succeed()],
    ["refused", (commit) => commit.succeed(["id_taken"])],
    ["failed", (commit) => commit.fail(new Error("disk"))],
    ["given up", (_, controller) => controller.abort(reason)],
  ])("or not: once it was %s, no listener is left on its signal", async (_, end) => {
    const { group, nextCommit } = begin();
    const controller = new AbortController();
    const submitted = group.submit(plantOf(0n), controller.signal);
    end(await nextCommit(), controller);
    await Promise.allSettled([submitted]);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  test("may share its signal with a thousand others without a warning", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const { group } = begin();
    const controller = new AbortController();
    const all = Array.from({ length: 1000 }, (_, id) =>
      group.submit(plantOf(BigInt(id)), controller.signal),
    );
    controller.abort(reason);
    for (const result of await Promise.allSettled(all)) expect(result).toMatchObject({ reason });
    await nextTurn();
    expect(warnings).toEqual([]);
  });
});
