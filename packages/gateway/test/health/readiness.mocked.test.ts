/** Waiting for a change of readiness, without a real clock. */
import { getEventListeners } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { readinessChange } from "../../src/health/health.ts";

test("nothing is polled while nobody waits", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const readiness = { isReady: () => true, draining: new AbortController().signal };
  const leaving = new AbortController();
  const waiting = [1, 2].map(() => readinessChange(readiness, true, leaving.signal));
  expect(vi.getTimerCount()).toBe(2);
  leaving.abort();
  await Promise.all(waiting);
  expect([vi.getTimerCount(), getEventListeners(readiness.draining, "abort")]).toEqual([0, []]);
});
