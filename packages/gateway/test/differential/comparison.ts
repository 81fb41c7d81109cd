/** What must be the same, except for the listed differences. */
import { expect } from "vitest";
import { type Case, printCase } from "./case.ts";
import type { Difference } from "./differences/difference.ts";
import { differences } from "./differences.ts";
import type { Outcome } from "./outcome.ts";
import type { Pair } from "./pair.ts";

/**
 * Runs a case on both sides. Fails if they differ in anything that no listed difference explains.
 */
export async function expectSame(pair: Pair, given: Case, replay = ""): Promise<void> {
  const found = await differencesOf(pair, given);
  if (found.length === 0) return;
  expect.fail([given.what, ...found, printCase(given), replay].join("\n"));
}

/** What no listed difference explains, one line for each place. */
export async function differencesOf(pair: Pair, given: Case): Promise<string[]> {
  const { stock, ours, core } = await pair.run(given, likeOf(given));
  const wanted = expectedOf(given, stock);
  return [
    ...differing(...comparable(wanted, ours)),
    ...(core === undefined
      ? []
      : differing(...comparable(wanted, core), "by the core API: outcome")),
  ];
}

/** The case in which the stock adapter behaves as ours does in this one. */
export function likeOf(given: Case): Case {
  return differences
    .filter((difference) => difference.applies(given))
    .reduce((like, difference) => difference.like?.(like) ?? like, given);
}

/** Our expected outcome, given the stock adapter's outcome in the equivalent case. */
export function expectedOf(given: Case, stock: Outcome): Outcome {
  return differences.reduce((outcome, difference) => apply(difference, outcome, given), stock);
}

export function apply(difference: Difference, outcome: Outcome, given: Case): Outcome {
  return difference.applies(given) ? difference.expected(outcome, given) : outcome;
}

/**
 * Two differences are allowed. Ours may announce the length of a body that connect-node sends in
 * chunks (or, over HTTP/2, without a length), because it writes the body at once: its clients have
 * checked it. And ours reports an internal error once, while connect-node reports nothing.
 */
export function comparable(stock: Outcome, ours: Outcome): [stock: Outcome, ours: Outcome] {
  const isOneWrite = ours.framing === "length" && stock.framing !== "length";
  const { "content-length": _length, ...headers } = ours.headers;
  const told = isOneWrite ? { ...ours, headers, framing: stock.framing } : ours;
  const isUnexpected = /internal(%20| )error/.test(JSON.stringify([ours.body, ours.trailers]));
  const isFree = isUnexpected && stock.reported.length === 0 && ours.reported.length === 1;
  return [stock, isFree ? { ...told, reported: [] } : told];
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
