import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createCall } from "../support/call-context.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const timedOut = { code: Code.DeadlineExceeded, rawMessage: "the operation timed out" };

test("a call ends at its deadline", () => {
  const call = createCall({ timeoutMs: 1000 });
  vi.advanceTimersByTime(999);
  expect(call.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(call.reason).toMatchObject(timedOut);
});

test("a call without time has ended", () => {
  expect(createCall({ timeoutMs: 0 }).reason).toMatchObject(timedOut);
  expect(vi.getTimerCount()).toBe(0);
});

test("a race is lost at the deadline", async () => {
  const lost = createCall({ timeoutMs: 1000 }).race(new Promise(() => {}));
  vi.advanceTimersByTime(1000);
  await expect(lost).rejects.toMatchObject(timedOut);
});

test.each(["release", "abort"] as const)("a call that has ended has no timer: %s", (end) => {
  createCall({ timeoutMs: 1000 })[end](undefined);
  expect(vi.getTimerCount()).toBe(0);
});
