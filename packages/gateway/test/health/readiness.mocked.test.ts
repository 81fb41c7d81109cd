/** Waiting for a change of readiness, without a real clock. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readinessChange } from "../../src/health/health.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function openWatch() {
  const draining = new AbortController();
  const state = { isReady: true };
  const readiness = { isReady: () => state.isReady, draining: draining.signal };
  const leaving = new AbortController();
  let woken = 0;
  const wait = (ready: boolean) =>
    readinessChange(readiness, ready, leaving.signal).then(() => {
      woken++;
    });
  return { draining, leaving, state, wait, woken: () => woken };
}

test("a change is reported to everyone who waits for it, and to nobody else", async () => {
  const { state, wait, woken } = openWatch();
  const changed = [wait(true), wait(true)];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(woken()).toBe(0);
  state.isReady = false;
  await vi.advanceTimersToNextTimerAsync();
  await Promise.all(changed);
  void wait(false);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(woken()).toBe(2);
});

test.each<[what: string, isReady: boolean]>([
  ["ready", true],
  ["not ready", false],
])("a drain is reported at once to waiters that saw the server %s", async (_what, isReady) => {
  const { draining, state, wait } = openWatch();
  state.isReady = isReady;
  const waiting = wait(isReady);
  draining.abort();
  await waiting;
});

test("a waiter with an outdated state does not wait", async () => {
  const { state, wait } = openWatch();
  state.isReady = false;
  await wait(true);
});

test("nothing is polled while nobody waits", async () => {
  const { leaving, wait } = openWatch();
  const waiting = [wait(true), wait(true)];
  expect(vi.getTimerCount()).toBe(2);
  leaving.abort();
  await Promise.all(waiting);
  expect(vi.getTimerCount()).toBe(0);
});
