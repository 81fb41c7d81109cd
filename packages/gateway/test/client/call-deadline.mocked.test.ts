import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallDeadline } from "../../src/client/call-deadline.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(timeoutMs: number) {
  const deadline = new CallDeadline(timeoutMs);
  const ended: unknown[] = [];
  deadline.onEnd = (error) => ended.push(error);
  return { deadline, ended };
}

test("a deadline ends the call once, and is told in whole milliseconds until then", () => {
  const { deadline, ended } = open(1000.5);
  expect(deadline.remainingMs).toBe(1000);
  vi.advanceTimersByTime(600);
  expect([deadline.remainingMs, deadline.error]).toEqual([400, undefined]);
  vi.advanceTimersByTime(401);
  deadline.handleEvent();
  expect(deadline.error).toMatchObject({ code: Code.DeadlineExceeded });
  expect([ended.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("a deadline leaves nothing when its call is over", () => {
  const { deadline, ended } = open(1000);
  deadline.release();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(2000);
  expect(ended).toEqual([]);
});
