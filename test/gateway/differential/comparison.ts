/** What is to be the same, but for the differences that have a name. */
import { expect } from "vitest";
import { type Case, printCase } from "./case.ts";
import { type Difference, differences } from "./differences.ts";
import type { Outcome } from "./outcome.ts";
import type { Pair } from "./pair.ts";

/** Runs a case on both sides; fails if they differ in what no difference on the list explains. */
export async function expectSame(pair: Pair, given: Case, replay = ""): Promise<void> {
  const { stock, ours } = await pair.run(given);
  const [expected, actual] = comparable(expectedOf(given, stock), ours);
  const found = differing(expected, actual);
  if (found.length === 0) return;
  const hint = namesOf(given, stock, ours);
  expect.fail([given.what, ...found, printCase(given), ...hint, replay].join("\n"));
}

/** What ours must be, as stock is so. */
export function expectedOf(given: Case, stock: Outcome): Outcome {
  const inEffect = differences.filter(({ isInEffect }) => isInEffect);
  return inEffect.reduce((outcome, difference) => apply(difference, outcome, given), stock);
}

export function apply(difference: Difference, outcome: Outcome, given: Case): Outcome {
  return difference.applies(given) ? difference.expected(outcome, given) : outcome;
}

/**
 * One difference is free: the length of a body may be told where connect-node
 * sends it in chunks (or, over HTTP/2, does not tell), as one write can. Its
 * clients have seen whether it is right.
 */
export function comparable(stock: Outcome, ours: Outcome): [stock: Outcome, ours: Outcome] {
  const isOneWrite = ours.framing === "length" && stock.framing !== "length";
  if (!isOneWrite) return [stock, ours];
  const { "content-length": _length, ...headers } = ours.headers;
  return [stock, { ...ours, headers, framing: stock.framing }];
}

/** Where two values differ, one line for each place. */
export function differing(expected: unknown, actual: unknown, path = "outcome"): string[] {
  if (isObject(expected) && isObject(actual)) {
    const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
    return names.flatMap((name) => differing(expected[name], actual[name], `${path}.${name}`));
  }
  const [one, other] = [JSON.stringify(expected), JSON.stringify(actual)];
  return one === other ? [] : [`${path}: expected ${one}, is ${other}`];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** A difference that is to come, and has: the list is behind. */
function namesOf(given: Case, stock: Outcome, ours: Outcome): string[] {
  return differences
    .filter(({ isInEffect }) => !isInEffect)
    .filter((difference) => {
      const later = apply(difference, expectedOf(given, stock), given);
      return differing(...comparable(later, ours)).length === 0;
    })
    .map(({ name }) => `This is on the list, as a difference to come: ${name}`);
}
