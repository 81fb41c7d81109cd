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
 * Four differences are allowed. Ours encodes of `grpc-message` only what gRPC says. Ours ends a call of gRPC that fails before its first message by headers
 * alone: retries need that. Ours may announce the length of a body that connect-node sends in
 * chunks (or, over HTTP/2, without a length), because it writes the body at once: its clients have
 * checked it. And ours reports an internal error once, while connect-node reports nothing.
 */
export function comparable(theirs: Outcome, own: Outcome): [stock: Outcome, ours: Outcome] {
  const [stock, ours] = [theirs, own].map(encoded) as [Outcome, Outcome];
  const isOneWrite = ours.framing === "length" && stock.framing !== "length";
  const { "content-length": _length, ...headers } = ours.headers;
  const told = isOneWrite ? { ...ours, headers, framing: stock.framing } : ours;
  const isUnexpected = /internal(%20| )error/.test(
    JSON.stringify([ours.body, ours.headers, ours.trailers]),
  );
  const isFree = isUnexpected && stock.reported.length === 0 && ours.reported.length === 1;
  const both = [stock, isFree ? { ...told, reported: [] } : told] as const;
  if (stock.body.length > 0 || stock.trailers["grpc-message"] === undefined) return [...both];
  const [one, other] = [inHeaders(both[0]), inHeaders(both[1])];
  // Headers that a stream sets after stock has sent them.
  const fields = Object.entries(other.headers);
  const known = fields.filter(([name]) => name in one.headers || !name.startsWith("x-"));
  return [withoutEmpty(one), withoutEmpty({ ...other, headers: Object.fromEntries(known) })];
}

/** The same with all of each `grpc-message` encoded. */
function encoded(value: unknown): unknown {
  const all = (text: string) => {
    try {
      return encodeURIComponent(decodeURIComponent(text));
    } catch {
      return text; // metadata of that name, of a caller
    }
  };
  if (typeof value === "string") {
    const bytes = Buffer.from(value.replace("hex ", ""), "hex").toString("latin1");
    // The length of the envelope says how its text is encoded.
    const text = bytes.includes("grpc-message: ") ? bytes.replace(/^\x80.{4}/s, "") : value;
    return text.replaceAll(/(?<=grpc-message: )[^\r\n]*/g, all);
  }
  if (Array.isArray(value)) {
    const isField = value.length === 2 && value[0] === "grpc-message";
    return isField ? [value[0], all(String(value[1]))] : value.map(encoded);
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    name === "grpc-message" ? [item].flat().map(String).map(all) : encoded(item),
  ]);
  return Object.fromEntries(entries);
}

/** The members of each list, without the empty ones: RFC 9110 section 5.6.1. */
function withoutEmpty(outcome: Outcome): Outcome {
  const lists = Object.entries(outcome.headers).map(([name, values]) => {
    const members = values.flatMap((value) => value.split(",")).map((member) => member.trim());
    return [name, members.filter((member) => member !== "")] as const;
  });
  return { ...outcome, headers: Object.fromEntries(lists.filter(([, { length }]) => length > 0)) };
}

/** An error of gRPC without a message, with its trailers among its headers. */
function inHeaders(outcome: Outcome): Outcome {
  const { headers, trailers } = outcome;
  // Over HTTP/1.1, Node leaves out its own fields where there are others.
  const { "keep-alive": kept, ...rest } = headers;
  const isOwn = "connection" in trailers || "keep-alive" in trailers;
  const own = isOwn || kept === undefined ? rest : headers;
  const all: Record<string, readonly string[]> = { ...own };
  for (const [name, values] of Object.entries(trailers)) {
    const isStatus = /^grpc-(?:status|message)/.test(name);
    const before = name === "connection" ? [] : (own[name] ?? []);
    if (isStatus) all[name] = values;
    else if (!ofProtocol.has(name)) all[name] = [...before, ...values];
  }
  return { ...outcome, headers: all, trailers: {} };
}

/** Trailers that would say something else as headers. */
const ofProtocol = new Set([
  ...["accept-encoding", "connect-accept-encoding", "connect-content-encoding"],
  ...["connect-protocol-version", "connect-timeout-ms", "content-encoding", "content-length"],
  ...["content-type", "date", "grpc-accept-encoding", "grpc-encoding", "grpc-timeout", "host"],
  ...["trailer", "user-agent"],
]);

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
