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
  const { isTTY, columns } = process.stderr;
  onTestFinished(() => void Object.assign(process.stderr, { isTTY, columns }));
  onTestFinished(() => void vi.restoreAllMocks());
  const none = typeof total === "object" ? { share: 0 } : total;
  const lines = createProgress();
  Object.assign(process.stderr, { isTTY: true, columns: 30 });
  const bar = createProgress();
  for (const { update } of [lines, bar]) update("copying", 0, none);
  now.mockReturnValue(10_000);
  for (const { update } of [lines, bar]) update("copying", done, total);
  const [[line], [row]] = write.mock.calls as [[string], [string]];
  expect(line).toContain(text);
  // Any more would begin another row of the terminal, and stay there.
  expect(row.replace("\r\x1b[K", "").length).toBeLessThan(30);
});
