import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallSignal } from "../../src/rpc/context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const timedOut = { code: Code.DeadlineExceeded, rawMessage: "the operation timed out" };

function callUntil(inMs: number): CallSignal {
  const deadline = Date.now() + inMs;
  return new CallSignal({ exchange: createMemoryExchange(), deadline, shutdownSignal: undefined });
}

test("a call ends at its deadline, if somebody watches it", () => {
  const call = callUntil(1000);
  expect(vi.getTimerCount()).toBe(0);
  expect(call.aborted).toBe(false);
  vi.advanceTimersByTime(999);
  expect(call.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(call.reason).toMatchObject(timedOut);
});

test("a call has ended that is first watched after its deadline", () => {
  for (const inMs of [0, -1]) {
    expect(callUntil(inMs).reason).toMatchObject(timedOut);
    expect(vi.getTimerCount()).toBe(0);
  }
});

test("a race is lost at the deadline", async () => {
  const lost = callUntil(1000).race(new Promise(() => {}));
  vi.advanceTimersByTime(1000);
  await expect(lost).rejects.toMatchObject(timedOut);
});

test("a call that has ended has no timer", () => {
  for (const end of ["release", "abort"] as const) {
    const call = callUntil(1000);
    expect(call.aborted).toBe(false);
    call[end](undefined);
    expect(vi.getTimerCount()).toBe(0);
  }
});
