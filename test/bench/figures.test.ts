/** What the figures of the bench are made of: its statistics, and the plants that must be stored. */
import { expect, test } from "vitest";
import { assertStored } from "../../bench/account.ts";
import { median, quantile, slope } from "../../bench/statistics.ts";

test.each([
  [100, 100, 8, true],
  [108, 100, 8, true],
  [99, 100, 8, false],
  [109, 100, 8, false],
])("%d stored of %d acknowledged and %d unanswered: %s", (stored, acknowledged, unanswered, ok) => {
  const check = () => assertStored(stored, { acknowledged, unanswered });
  if (ok) check();
  else expect(check).toThrow(`${stored} plants are stored`);
});

const hundred = Array.from({ length: 100 }, (_, n) => n + 1);
const points = (...ys: number[]) => ys.map((y, x) => [10 * x, y] as const);

test.each([
  ["a median", median([3, 1, 2]), 2],
  ["a median", median([10, 9, 100, 1]), 9.5],
  ["a quantile", quantile(hundred, 0.99), 99],
  ["a quantile", quantile([1, 2], 0.99), 2],
  ["a quantile", quantile([1, 2], 0), 1],
  // The best line through points that are on none.
  ["a slope", slope(points(0, 2, 1)), 0.05],
])("%s of %d is %d", (_what, found, expected) => expect(found).toBeCloseTo(expected, 12));
