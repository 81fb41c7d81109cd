/** Commits that failed and may succeed later. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CommitLimits } from "../../src/store/options.ts";
import { begin } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const passing = new Error("passing");
const silent = new Error("silent");

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

function beginRetrying(limits: Partial<CommitLimits> = {}) {
  const mayHelp = (error: unknown) => error === passing;
  const isSilent = (error: unknown) => error === silent;
  const retries = { retryLimitMs: 10_000, backoffMinMs: 10, backoffMaxMs: 100, mayHelp, isSilent };
  const opened = begin(limits, { retries });
  return {
    ...opened,
    async nextRetry() {
      await turns();
      vi.advanceTimersByTime(100);
      return await opened.nextCommit();
    },
  };
}

test("are retried, and their callers hear nothing of it", async () => {
  const { group, nextCommit, nextRetry, told } = beginRetrying();
  const created = group.submit(plantOf(1n));
  (await nextCommit()).fail(passing);
  for (let tries = 0; tries < 3; tries++) (await nextRetry()).fail(passing);
  (await nextRetry()).succeed();
  expect(await created).toBe("created");
  expect(told).toEqual(["succeeded"]);
});

test("are not retried after an error that will not pass", async () => {
  const { group, nextCommit, told } = beginRetrying();
  const failing = group.submit(plantOf(1n));
  (await nextCommit()).fail(new Error("final"));
  await expect(failing).rejects.toMatchObject({ code: "unavailable" });
  expect(told).toEqual(["final"]);
});

test("are not retried for a part that is silent, and all that wait for it fail with them", async () => {
  const { group, nextCommit, told, begun } = beginRetrying();
  const failing = [group.submit(plantOf(1n))];
  (await nextCommit()).fail(passing);
  await turns();
  failing.push(group.submit(plantOf(2n)));
  const commit = await nextCommit();
  failing.push(group.submit(plantOf(3n)));
  commit.fail(silent);
  for (const result of await Promise.allSettled(failing)) {
    expect(result).toMatchObject({ reason: { code: "unavailable", cause: silent } });
  }
  vi.advanceTimersByTime(100);
  await group.drain();
  expect(begun).toEqual([]);
  expect(told).toEqual(["silent"]);
  const created = group.submit(plantOf(4n));
  (await nextCommit()).succeed();
  expect(await created).toBe("created");
});

test("delay no other", async () => {
  const { group, nextCommit, nextRetry } = beginRetrying();
  void group.submit(plantOf(1n));
  (await nextCommit()).fail(passing);
  const retry = await nextRetry();
  const created = group.submit(plantOf(2n));
  (await nextCommit()).succeed();
  expect(await created).toBe("created");
  retry.succeed();
});

test("are retried with fewer and fewer rows, as one of them may be the cause", async () => {
  const { group, nextCommit, nextRetry } = beginRetrying();
  const failing = group.submit(plantOf(0n));
  let stored = 0;
  for (let id = 1n; id < 8n; id++) void group.submit(plantOf(id)).then(() => stored++);
  (await nextCommit()).fail(passing);
  while (stored < 7) {
    const retry = await nextRetry();
    if (retry.ids.includes(0n)) retry.fail(passing);
    else retry.succeed();
    await turns();
  }
  (await nextRetry()).succeed();
  expect(await failing).toBe("created");
});

test("fail after the limit; then, while nothing succeeds, others fail at once", async () => {
  const { group, nextCommit, nextRetry, told } = beginRetrying();
  const failing = group.submit(plantOf(1n));
  (await nextCommit()).fail(passing);
  for (let tries = 0; tries < 2; tries++) {
    const retry = await nextRetry();
    vi.advanceTimersByTime(5000);
    retry.fail(passing);
  }
  await expect(failing).rejects.toMatchObject({ code: "unavailable", cause: passing });
  const late = group.submit(plantOf(2n));
  (await nextCommit()).fail(passing);
  await expect(late).rejects.toMatchObject({ code: "unavailable", cause: passing });
  const created = group.submit(plantOf(3n));
  (await nextCommit()).succeed();
  await created;
  const retried = group.submit(plantOf(4n));
  (await nextCommit()).fail(passing);
  (await nextRetry()).succeed();
  await retried;
  expect(told).toEqual(["passing", "passing", "succeeded", "succeeded"]);
});

test("an outage that nobody has met for long does not count", async () => {
  const { group, nextCommit, nextRetry } = beginRetrying();
  const leaving = new AbortController();
  const left = group.submit(plantOf(1n), leaving.signal);
  (await nextCommit()).fail(passing);
  await turns();
  leaving.abort("left");
  await expect(left).rejects.toBe("left");
  vi.advanceTimersByTime(60_000);
  const created = group.submit(plantOf(2n));
  (await nextCommit()).fail(passing);
  (await nextRetry()).succeed();
  expect(await created).toBe("created");
});

test.each([
  ["while it waits for the retry", false],
  ["during the first try", true],
])("are not written again for a caller that left %s", async (_, isEarly) => {
  const { group, nextCommit, begun } = beginRetrying({ waitingRowsMax: 1 });
  const leaving = new AbortController();
  const left = expect(group.submit(plantOf(1n), leaving.signal)).rejects.toBe("left");
  const commit = await nextCommit();
  if (isEarly) leaving.abort("left");
  commit.fail(passing);
  await turns();
  leaving.abort("left");
  await left;
  vi.advanceTimersByTime(100);
  await group.drain();
  expect(begun).toEqual([]);
  expect(group.isFull()).toBe(false);
});

test("are limited with all that wait", async () => {
  const { group, nextCommit } = beginRetrying({ waitingRowsMax: 2 });
  for (const id of [1n, 2n]) void group.submit(plantOf(id));
  (await nextCommit()).fail(passing);
  await turns();
  expect(group.isFull()).toBe(true);
  await expect(group.submit(plantOf(3n))).rejects.toMatchObject({ code: "overloaded" });
});

test("are finished by a drain", async () => {
  const { group, nextCommit, nextRetry } = beginRetrying();
  const ends: string[] = [];
  void group.submit(plantOf(1n)).then(() => ends.push("created"));
  (await nextCommit()).fail(passing);
  await turns();
  const drained = group.drain().then(() => ends.push("drained"));
  await turns();
  (await nextRetry()).succeed();
  await drained;
  expect(ends).toEqual(["created", "drained"]);
});

test.each(["while the commit runs", "while they wait for a retry"])(
  "are told of, though their callers leave %s",
  async (when) => {
    const { group, nextCommit, told } = beginRetrying();
    const caller = new AbortController();
    const created = group.submit(plantOf(1n), caller.signal);
    const commit = await nextCommit();
    const leave = async () => {
      caller.abort(new Error("left"));
      await expect(created).rejects.toThrow("left");
    };
    if (when === "while the commit runs") await leave();
    commit.fail(passing);
    await turns();
    if (when !== "while the commit runs") await leave();
    vi.advanceTimersByTime(100);
    await turns();
    expect(told).toEqual(["passing"]);
  },
);
