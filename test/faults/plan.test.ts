/** The parameters of a run: how long, which campaigns, which plan. */
import { describe, expect, test } from "vitest";
import { campaigns } from "./campaigns.ts";
import { parseFlags } from "./flags.ts";
import { createRandom } from "./random.ts";

const names = ["one", "two"];

describe("the command line", () => {
  test("chooses campaigns, time and seed", () => {
    const args = ["--only", "two", "--minutes", "0.5", "--seed", "7"];
    expect(parseFlags(args, names)).toEqual({ only: ["two"], minutes: 0.5, seed: 7 });
  });

  test("without any, runs all for three minutes with a random seed", () => {
    const flags = parseFlags([], names);
    expect(flags).toEqual({ only: names, minutes: 3, seed: expect.any(Number) });
    expect(parseFlags([], names).seed).not.toBe(flags.seed);
  });

  test("runs a soak alone, for hours, in a directory", () => {
    const args = ["soak", "--hours", "1.5", "--folder", "there", "--seed", "7"];
    expect(parseFlags(args, names)).toMatchObject({ minutes: 90, soak: "there", seed: 7 });
    expect(parseFlags(["soak"], names)).toMatchObject({ minutes: 180, soak: "data/soak" });
  });

  test.each([
    { args: ["--hours", "1"], message: "--hours is of soak" },
    { args: ["soap"], message: "soap is nothing to run; there is soak" },
    { args: ["soak", "--hours", "long"], message: "--hours must be a number, not long" },
    { args: ["--only", "three"], message: "there is no campaign three; there are one, two" },
    { args: ["--minutes", "long"], message: "--minutes must be a number, not long" },
    { args: ["--seed", "-1"], message: /seed/ },
    { args: ["--fast"], message: /--fast/ },
  ])("$args is rejected", ({ args, message }) => {
    expect(() => parseFlags(args, names)).toThrow(message);
  });
});

test("campaigns have distinct names", () => {
  expect(new Set(campaigns.map(({ name }) => name)).size).toBe(campaigns.length);
});

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
