import { describe, expect, test } from "vitest";
import { createProgress, type End } from "../../src/cli/progress.ts";

type Update = readonly [seconds: number, phase: string, done: number, end: End];

/** What is written when updates come at these seconds. */
function written(isTTY: boolean, ...updates: readonly Update[]): string {
  let now = 0;
  let text = "";
  const stream = { isTTY, write: (chunk: string) => (text += chunk) };
  const progress = createProgress(stream, () => now * 1000);
  for (const [seconds, phase, done, total] of updates) {
    now = seconds;
    progress.update(phase, done, total);
  }
  progress.end();
  return text;
}

describe("elsewhere than on a terminal", () => {
  test("a line every few seconds tells how far, how fast and how long", () => {
    const updates = Array.from(
      { length: 12 },
      (_, second): Update => [second, "copying", 1000 + second * 500, 10_000],
    );
    expect(written(false, ...updates)).toBe(
      "copying 35%, 3,500 of 10,000, 500/s, 13 s left\n" +
        "copying 60%, 6,000 of 10,000, 500/s, 8 s left\n",
    );
  });

  test("short work says nothing", () => {
    expect(written(false, [0, "copying", 1, 2], [1, "copying", 2, 2])).toBe("");
  });

  test("the rate begins anew with a phase", () => {
    const end = 7_300_100;
    const copying: readonly Update[] = [
      [60, "copying", 100, end],
      [65, "copying", 5100, end],
    ];
    expect(written(false, [0, "comparing", 0, 100], ...copying)).toBe(
      "copying 0%, 5,100 of 7,300,100, 1,000/s, 2 h 1 min left\n",
    );
  });

  test.each<[what: string, begun: End, end: End, text: string]>([
    ["a share of the file", { share: 0 }, { share: 0.25 }, " 25%, 30,000, 3,000/s, 30 s left"],
    ["no end that is known", "unknown", "unknown", ", 30,000, 3,000/s"],
  ])("with %s, a line has what is known", (_what, begun, end, text) => {
    const updates = [[0, "importing", 0, begun] as const, [10, "importing", 30_000, end] as const];
    expect(written(false, ...updates)).toBe(`importing${text}\n`);
  });

  test("nothing of nothing is no reason to divide by it", () => {
    const text = written(false, [0, "copying", 0, 0], [9, "copying", 0, 0]);
    expect(text).toBe("copying 0%, 0 of 0\n");
  });
});

test("on a terminal a bar is drawn over itself, ten times a second at most, and gone at the end", () => {
  const times = [0, 0.05, 0.1, 0.15, 40];
  const done = [0, 500, 1000, 2000, 4000];
  const updates = times.map((time, index): Update => [time, "copying", done[index] ?? 0, 4000]);
  const clear = "\r\x1b[K";
  expect(written(true, ...updates)).toBe(
    `${clear}[######------------------] copying 25%, 1,000 of 4,000, 10,000/s, 1 s left` +
      `${clear}[########################] copying 100%, 4,000 of 4,000, 100/s, 0 s left${clear}`,
  );
});
