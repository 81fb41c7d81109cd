import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { shareLog } from "../../../src/server/threads/shared-log.ts";
import { createRecordedLog } from "../../support/recorded-log.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Line = readonly [thread: number, message: string, reason: string, afterMs: number];

test.each<[string, readonly Line[], number]>([
  [
    "one event that all threads notice is said once",
    [
      [1, "a", "x", 0],
      [2, "a", "x", 900],
      [3, "a", "x", 900],
    ],
    1,
  ],
  [
    "an event that comes again is said again",
    [
      [1, "a", "x", 0],
      [1, "a", "x", 10],
    ],
    2,
  ],
  [
    "an event of later is said again",
    [
      [1, "a", "x", 0],
      [2, "a", "x", 2001],
    ],
    2,
  ],
  [
    "another message is said",
    [
      [1, "a", "x", 0],
      [2, "b", "x", 0],
    ],
    2,
  ],
  [
    "another reason is said",
    [
      [1, "a", "x", 0],
      [2, "a", "y", 0],
    ],
    2,
  ],
])("%s", (_, lines, count) => {
  const log = createRecordedLog();
  const share = shareLog(log);
  for (const [thread, message, reason, afterMs] of lines) {
    vi.advanceTimersByTime(afterMs);
    share(thread).warn(message, new Error(reason));
  }
  expect(log.lines).toHaveLength(count);
});

test("a level is kept, and told apart", () => {
  const log = createRecordedLog();
  const share = shareLog(log);
  const cause = new Error("x");
  share(1).warn("a", cause);
  share(2).error("a", cause);
  share(1).info("a");
  expect(log.lines).toEqual([
    { level: "warn", message: "a", cause },
    { level: "error", message: "a", cause },
    { level: "info", message: "a", cause: undefined },
  ]);
});
