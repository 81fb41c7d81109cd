import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CallDeadline } from "../../src/client/call-deadline.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const timedOut = { code: Code.DeadlineExceeded, rawMessage: "no answer in time" };

function open(timeoutMs: number | undefined, signal?: AbortSignal) {
  const deadline = new CallDeadline(timeoutMs, signal as never);
  const ended: unknown[] = [];
  deadline.onEnd = (error) => ended.push(error);
  return { deadline, ended };
}

describe("a deadline", () => {
  test("ends the call once, and is told in whole milliseconds until then", () => {
    const { deadline, ended } = open(1000.5);
    expect(deadline.remainingMs).toBe(1000);
    vi.advanceTimersByTime(600);
    expect(deadline.remainingMs).toBe(400);
    expect(deadline.error).toBeUndefined();
    vi.advanceTimersByTime(401);
    expect(deadline.error).toMatchObject(timedOut);
    expect(ended).toEqual([expect.objectContaining(timedOut)]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("leaves nothing when its call is over", () => {
    const { deadline, ended } = open(1000);
    deadline.release();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(2000);
    expect(ended).toEqual([]);
  });
});

describe("a caller that cancels", () => {
  const own = new ConnectError("over", Code.Unavailable);
  const other = new Error("left");

  test.each([
    ["an error of its own", own, own],
    ["another reason", other, { code: Code.Canceled, cause: other }],
  ])("ends the call, with %s", (_what, reason, error) => {
    const caller = new AbortController();
    const { deadline, ended } = open(1000, caller.signal);
    expect(deadline.error).toBeUndefined();
    caller.abort(reason);
    expect(deadline.error).toMatchObject(error);
    expect(ended).toEqual([expect.objectContaining(error)]);
    expect(vi.getTimerCount()).toBe(0);
    expect(open(1000, caller.signal).deadline.error).toMatchObject(error);
  });

  test("does not change why the call has ended", () => {
    const caller = new AbortController();
    const { deadline, ended } = open(10, caller.signal);
    vi.advanceTimersByTime(10);
    caller.abort(own);
    expect(deadline.error).toMatchObject(timedOut);
    expect(ended).toHaveLength(1);
  });
});
