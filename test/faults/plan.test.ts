/** The parameters of a run: how long, which campaigns, which plan. */
import { describe, expect, test } from "vitest";
import { createRandom } from "./random.ts";

describe("a plan", () => {
  const numbers = (seed: number, name: string) => {
    const random = createRandom(seed, name);
    return Array.from({ length: 20 }, () => random.int(-5, 5));
  };

  test("is the same for the same seed, and differs by seed and by user of the seed", () => {
    expect(numbers(1, "a")).toEqual(numbers(1, "a"));
    expect(numbers(1, "a")).not.toEqual(numbers(2, "a"));
    expect(numbers(1, "a")).not.toEqual(numbers(1, "b"));
  });

  test("uses the whole range, and nothing outside it", () => {
    const random = createRandom(1, "range");
    const seen = new Set(Array.from({ length: 500 }, () => random.int(-1, 2)));
    expect([...seen].sort((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
  });

  test("shuffles without losing anything", () => {
    const list = Array.from({ length: 50 }, (_, index) => index);
    const shuffled = createRandom(1, "shuffle").shuffle(list);
    expect(shuffled).not.toEqual(list);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(list);
  });
});
