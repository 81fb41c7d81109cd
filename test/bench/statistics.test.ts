import { expect, test } from "vitest";
import { median, quantile, slope } from "../../bench/statistics.ts";

test.each([
  [[5], 5],
  [[3, 1, 2], 2],
  [[10, 9, 100, 1], 9.5],
])("the median of %j is %d", (values, expected) => {
  expect(median(values)).toBe(expected);
});

const hundred = Array.from({ length: 100 }, (_, n) => n + 1);

test.each([
  [hundred, 0.5, 50],
  [hundred, 0.99, 99],
  [hundred, 1, 100],
  [[7], 0.99, 7],
  [[1, 2], 0.99, 2],
  [[1, 2], 0, 1],
])("a quantile is one of the values", (sorted, share, expected) => {
  expect(quantile(sorted, share)).toBe(expected);
});

test.each([
  [
    [
      [0, 1],
      [1, 3],
      [2, 5],
    ],
    2,
  ],
  [
    [
      [10, 4],
      [20, 4],
    ],
    0,
  ],
  // The best line through points that are on none.
  [
    [
      [0, 0],
      [1, 2],
      [2, 1],
    ],
    0.5,
  ],
] as const)("the slope of %j is %d", (points, expected) => {
  expect(slope(points)).toBeCloseTo(expected, 12);
});

test("there is no figure without values", () => {
  expect(() => median([])).toThrow(RangeError);
  expect(() => quantile([], 0.5)).toThrow(RangeError);
  expect(() => slope([[1, 1]])).toThrow(RangeError);
});
