import { expect, onTestFinished, test, vi } from "vitest";
import { backoffMs } from "../src/backoff.ts";

test.each([
  [1, 0, 50],
  [1, 0.5, 75],
  [2, 0, 100],
  [3, 0, 200],
  [4, 0, 400],
  [5, 0, 500],
  [2000, 0.999, 999.5],
])("the pause after %d failures is random: %d makes %d ms", (tries, random, ms) => {
  const spy = vi.spyOn(Math, "random").mockReturnValue(random);
  onTestFinished(() => spy.mockRestore());
  expect(backoffMs(tries, { backoffMinMs: 100, backoffMaxMs: 1000 })).toBeCloseTo(ms);
});
