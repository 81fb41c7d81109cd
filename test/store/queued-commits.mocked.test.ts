/** How long a queue in shared memory waits for callers that it has just answered. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { beginQueue } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => void vi.useRealTimers());

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

test.each([
  ["fast commits do not wait for callers that come again", 100, 5],
  ["slow commits wait for all, until the last one has come again", 60_000, 10],
])("%s", async (_, durationUs, rows) => {
  const { group, nextCommit } = beginQueue({}, durationUs);
  const submit = (id: number) => group.submit(plantOf(BigInt(id)));
  const before = Promise.all(Array.from({ length: 10 }, (_, id) => submit(id)));
  (await nextCommit()).succeed();
  await before;
  const again: Promise<unknown>[] = [];
  for (let id = 0; id < 5; id++) {
    again.push(
      submit(id)
        .then(turns)
        .then(() => submit(id)),
    );
  }
  vi.advanceTimersByTime(1);
  const first = await nextCommit();
  for (let id = 5; id < 10; id++) again.push(submit(id));
  first.succeed();
  const second = await nextCommit();
  expect(second.ids).toHaveLength(rows);
  second.succeed();
  if (rows === 5) (await nextCommit()).succeed();
  await Promise.all(again);
});

test("slow commits do not wait long for callers that do not come again", async () => {
  const { group, nextCommit, begun } = beginQueue({}, 60_000);
  const callers = Array.from({ length: 10 }, (_, id) => group.submit(plantOf(BigInt(id))));
  (await nextCommit()).succeed();
  await Promise.all(callers);
  void group.submit(plantOf(20n));
  await turns();
  expect(begun).toEqual([]);
  vi.advanceTimersByTime(1);
  expect((await nextCommit()).ids).toEqual([20n]);
});
