/** Commits that failed and may succeed later. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CommitLimits } from "../../src/store/options.ts";
import { begin, ofRow, turns } from "./open-commits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const passing = new Error("passing");
const silent = new Error("silent");
const unavailable = { code: "unavailable", cause: passing };

function beginRetrying(limits: Partial<CommitLimits> = {}) {
  const mayHelp = (error: unknown) => error === passing;
  const isSilent = (error: unknown) => error === silent;
  const retries = { retryLimitMs: 10_000, backoffMinMs: 10, backoffMaxMs: 100, mayHelp, isSilent };
  const opened = begin(limits, { retries });
  const { submit, nextCommit } = opened;
  const caller = new AbortController();
  return {
    ...opened,
    leave: () => caller.abort("left"),
    /** Submits a plant, whose commit fails and will be retried. */
    async submitFailing(id: number) {
      const created = submit(id, caller.signal);
      created.catch(() => {});
      (await nextCommit()).fail(passing);
      await turns();
      return { created };
    },
    async nextRetry() {
      await turns();
      vi.advanceTimersByTime(100);
      return await nextCommit();
    },
  };
}

test("are retried, and their callers hear nothing of it", async () => {
  const { submitFailing, nextRetry, told } = beginRetrying();
  const { created } = await submitFailing(1);
  for (let tries = 0; tries < 3; tries++) (await nextRetry()).fail(passing);
  (await nextRetry()).succeed();
  expect(await created).toBe("created");
  expect(told).toEqual(["succeeded"]);
});

test("are not retried after an error that will not pass", async () => {
  const { submit, nextCommit, told } = beginRetrying();
  const failing = submit(1);
  (await nextCommit()).fail(new Error("final"));
  await expect(failing).rejects.toMatchObject({ code: "unavailable" });
  expect(told).toEqual(["final"]);
});

test("are not retried for a part that is silent, and all that wait for it fail with them", async () => {
  const { group, submit, submitFailing, nextCommit, told, begun } = beginRetrying();
  const failing = [(await submitFailing(1)).created, submit(2)];
  const commit = await nextCommit();
  failing.push(submit(3));
  commit.fail(silent);
  for (const result of await Promise.allSettled(failing)) {
    expect(result).toMatchObject({ reason: { code: "unavailable", cause: silent } });
  }
  vi.advanceTimersByTime(100);
  await group.drain();
  expect(begun).toEqual([]);
  expect(told).toContain("silent");
  const created = submit(4);
  (await nextCommit()).succeed();
  expect(await created).toBe("created");
});

test("delay no other", async () => {
  const { submit, submitFailing, nextCommit, nextRetry } = beginRetrying();
  await submitFailing(1);
  const retry = await nextRetry();
  const created = submit(2);
  (await nextCommit()).succeed();
  expect(await created).toBe("created");
  retry.succeed();
});

test("are retried with fewer and fewer rows, as one of them may be the cause", async () => {
  const { submit, nextCommit, nextRetry } = beginRetrying();
  const failing = submit(0);
  let stored = 0;
  for (let id = 1; id < 8; id++) void submit(id).then(() => stored++);
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

test("pause before the next try, if one half of them fails again", async () => {
  const { submit, nextCommit, nextRetry, begun } = beginRetrying();
  const created = [submit(1), submit(2)];
  (await nextCommit()).fail(passing);
  (await nextRetry()).fail(ofRow);
  (await nextCommit()).fail(passing);
  (await nextCommit()).succeed();
  await turns();
  expect(begun).toEqual([]);
  (await nextRetry()).succeed();
  expect(await Promise.all(created)).toEqual(["created", "created"]);
});

test("fail after the limit; then, while nothing succeeds, others fail at once", async () => {
  const { submit, submitFailing, nextCommit, nextRetry, told } = beginRetrying();
  const { created: failing } = await submitFailing(1);
  for (let tries = 0; tries < 2; tries++) {
    const retry = await nextRetry();
    vi.advanceTimersByTime(5000);
    retry.fail(passing);
  }
  await expect(failing).rejects.toMatchObject(unavailable);
  await expect((await submitFailing(2)).created).rejects.toMatchObject(unavailable);
  const created = submit(3);
  (await nextCommit()).succeed();
  await created;
  const retried = await submitFailing(4);
  (await nextRetry()).succeed();
  await retried.created;
  expect(told).toEqual(["passing", "passing", "succeeded", "succeeded"]);
});

test.each([
  ["a commit that hangs, or the next one", 0],
  ["retries with fewer and fewer rows", 3],
])("whatever a caller waits for, it is told after ten seconds: %s", async (_, tries) => {
  const { submit, nextCommit, nextRetry } = beginRetrying();
  let told = 0;
  const submit64 = (first: number) => {
    for (let id = first; id < first + 64; id++) submit(id).catch(() => told++);
  };
  submit64(0);
  const commit = await nextCommit();
  if (tries > 0) commit.fail(passing);
  for (let failed = 0; failed < tries; failed++) (await nextRetry()).fail(passing);
  submit64(64);
  await turns();
  vi.advanceTimersByTime(9000);
  await turns();
  expect(told).toBe(0);
  vi.advanceTimersByTime(1100);
  await turns();
  expect(told).toBe(128);
});

test("an outage that nobody has met for long does not count", async () => {
  const { submit, submitFailing, nextCommit, nextRetry, leave } = beginRetrying();
  const { created: left } = await submitFailing(1);
  leave();
  await expect(left).rejects.toBe("left");
  vi.advanceTimersByTime(60_000);
  const created = submit(2);
  (await nextCommit()).fail(passing);
  (await nextRetry()).succeed();
  expect(await created).toBe("created");
});

test.each([
  ["while it waits for the retry", false],
  ["during the first try", true],
])("are told of, and not written again for a caller that left %s", async (_, isEarly) => {
  const { group, submit, nextCommit, told, begun } = beginRetrying({ waitingRowsMax: 1 });
  const caller = new AbortController();
  const left = expect(submit(1, caller.signal)).rejects.toBe("left");
  const commit = await nextCommit();
  if (isEarly) caller.abort("left");
  commit.fail(passing);
  await turns();
  caller.abort("left");
  await left;
  vi.advanceTimersByTime(100);
  await group.drain();
  await turns();
  expect(begun).toEqual([]);
  expect(told).toEqual(["passing"]);
  expect(group.isFull()).toBe(false);
});

test("are limited with all that wait", async () => {
  const { group, submit, nextCommit } = beginRetrying({ waitingRowsMax: 2 });
  const [, second] = [1, 2].map((id) => submit(id));
  const commit = await nextCommit();
  void submit(3);
  commit.fail(passing);
  await expect(second).rejects.toMatchObject(unavailable);
  expect(group.isFull()).toBe(true);
  await expect(submit(4)).rejects.toMatchObject({ code: "overloaded" });
});

test("are finished by a drain", async () => {
  const { group, submitFailing, nextRetry } = beginRetrying();
  const ends: string[] = [];
  void (await submitFailing(1)).created.then(() => ends.push("created"));
  const drained = group.drain().then(() => ends.push("drained"));
  (await nextRetry()).succeed();
  await drained;
  expect(ends).toEqual(["created", "drained"]);
});
