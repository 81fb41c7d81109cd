/** What long work tells, ten seconds after its first item. */
import { expect, onTestFinished, test, vi } from "vitest";
import { createProgress, type End } from "../../src/cli/progress.ts";

test.each<[text: string, done: number, total: End]>([
  ["copying 10%, 10 of 100, 1/s, 1 min 30 s left", 10, 100],
  ["copying 0%, 10 of 10,000, 1/s, 2 h 46 min left", 10, 10_000],
  ["copying 50%, 7, 1/s, 10 s left", 7, { share: 0.5 }],
  ["copying, 9,990, 999/s", 9990, "unknown"],
])("%s", (text, done, total) => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const { update } = createProgress();
  update("copying", 0, typeof total === "object" ? { share: 0 } : total);
  now.mockReturnValue(10_000);
  update("copying", done, total);
  expect(String(write.mock.lastCall)).toContain(text);
});
