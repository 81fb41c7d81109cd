import { describe, expect, test } from "vitest";
import { type End, Progress } from "../../src/cli/progress.ts";

/** What is written when updates come at these seconds. */
function written(
  isTTY: boolean,
  updates: readonly (readonly [seconds: number, phase: string, done: number, end: End])[],
): string {
  let now = 0;
  let text = "";
  const stream = { isTTY, write: (chunk: string) => (text += chunk) };
  const progress = new Progress(stream, () => now * 1000);
  for (const [seconds, phase, done, total] of updates) {
    now = seconds;
    progress.update(phase, done, total);
  }
  progress.end();
  return text;
}

describe("elsewhere than on a terminal", () => {
  test("a line every few seconds tells how far, how fast and how long", () => {
    const updates = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(
      (second) => [second, "copying", 1000 + second * 500, 10_000] as const,
    );
    expect(written(false, updates)).toBe(
      "copying 35%, 3,500 of 10,000, 500/s, 13 s left\n" +
        "copying 60%, 6,000 of 10,000, 500/s, 8 s left\n",
    );
  });

  test("short work says nothing", () => {
    expect(
      written(false, [
        [0, "copying", 1, 2],
        [1, "copying", 2, 2],
      ]),
    ).toBe("");
  });

  test("the rate begins anew with a phase", () => {
    expect(
      written(false, [
        [0, "comparing", 0, 100],
        [60, "copying", 100, 7_300_100],
        [65, "copying", 5100, 7_300_100],
      ]),
    ).toBe("copying 0%, 5,100 of 7,300,100, 1,000/s, 2 h 1 min left\n");
  });

  test("where nobody knows how many there will be, a share of the file tells how long", () => {
    expect(
      written(false, [
        [0, "importing", 0, { share: 0 }],
        [10, "importing", 30_000, { share: 0.25 }],
      ]),
    ).toBe("importing 25%, 30,000, 3,000/s, 30 s left\n");
  });

  test("what has no end that is known has a rate alone", () => {
    expect(
      written(false, [
        [0, "importing", 0, "unknown"],
        [10, "importing", 30_000, "unknown"],
      ]),
    ).toBe("importing, 30,000, 3,000/s\n");
  });

  test("nothing of nothing is no reason to divide by it", () => {
    expect(
      written(false, [
        [0, "copying", 0, 0],
        [9, "copying", 0, 0],
      ]),
    ).toBe("copying 0%, 0 of 0\n");
  });
});

describe("on a terminal", () => {
  test("a bar is drawn over itself, ten times a second at most, and gone at the end", () => {
    const clear = "\r\x1b[K";
    expect(
      written(true, [
        [0, "copying", 0, 4000],
        [0.05, "copying", 500, 4000],
        [0.1, "copying", 1000, 4000],
        [0.15, "copying", 2000, 4000],
        [40, "copying", 4000, 4000],
      ]),
    ).toBe(
      `${clear}[######------------------] copying 25%, 1,000 of 4,000, 10,000/s, 1 s left` +
        `${clear}[########################] copying 100%, 4,000 of 4,000, 100/s, 0 s left${clear}`,
    );
  });
});
