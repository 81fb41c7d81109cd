/** Checks the list of differences: each entry is exact, and none is outdated. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apply, comparable, differing, expectSame } from "./comparison.ts";
import { isUnary } from "./differences/difference.ts";
import { differences } from "./differences.ts";
import { openPair, type Pair } from "./pair.ts";

let pair: Pair;

beforeAll(async () => {
  pair = await openPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

const examples = differences.flatMap((difference) =>
  difference.examples.map((given) => [difference.name, given.what, difference, given] as const),
);

describe.each(examples)("%s: %s", (_name, _what, difference, given) => {
  test("is a difference", async () => {
    const stock = await pair.stock.run(given);
    const like = difference.like && (await pair.stock.run(difference.like(given)));
    expect(differing(stock, apply(difference, like ?? stock, given))).not.toEqual([]);
  });

  test("that ours has", async () => {
    await expectSame(pair, given);
  });
});

test("unary calls over HTTP/2 also use the core API", async () => {
  const unary = examples.map((example) => example[3]).filter(isUnary);
  const given = unary.find(
    ({ request, setup }) =>
      request.http === "2" && request.method === "POST" && setup.contextValues === undefined,
  );
  if (given === undefined) throw new Error("no example");
  const before = pair.core.streams;
  await pair.run(given);
  expect(pair.core.streams).toBe(before + 1);
});

test("each has examples", () => {
  expect(differences.filter(({ examples }) => examples.length === 0)).toEqual([]);
});

test("equal outcomes are distinguished from others", async () => {
  const [first] = examples;
  const given = first?.[3];
  if (given === undefined) throw new Error("no example");
  const { stock } = await pair.run(given);
  const other = { ...stock, headers: { ...stock.headers, "x-more": ["a"] } };
  expect(differing(...comparable(stock, other))).toHaveLength(1);
});
