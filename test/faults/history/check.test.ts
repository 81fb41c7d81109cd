/** The checker finds each kind of violation in a history, and accepts what the model allows. */
import { describe, expect, test } from "vitest";
import { storedForm } from "../../support/stored-plants.ts";
import {
  checkHistory,
  deadlineSlackMs,
  type RequestOutcome,
  type RequestRecord,
  type StoreRead,
  type TestPlant,
  type ViolationKind,
} from "./check.ts";

const mine: TestPlant = { id: 1n, name: "Basil", tag: "herb" };
const yours: TestPlant = { id: 1n, name: "Basil", tag: "tree" };
const untagged: TestPlant = { id: 1n, name: "Basil" };
const emptyTag: TestPlant = { id: 1n, name: "Basil", tag: "" };
const renamed: TestPlant = { ...mine, name: "basil" };

const deadlineMs = 1000;
const latest = deadlineMs + deadlineSlackMs;
const taken: RequestOutcome = { kind: "taken" };
const invalid: RequestOutcome = { kind: "invalid" };
const failed: RequestOutcome = { kind: "failed", reason: "internal" };
const cut: RequestOutcome = { kind: "unknown", why: "cut" };
const late: RequestOutcome = { kind: "unknown", why: "deadline" };
const unanswered: RequestOutcome = { kind: "unknown", why: "unanswered" };

function stored({ id: _, ...answer }: TestPlant): RequestOutcome {
  return { kind: "stored", answer };
}

/** From one moment to another, in ms. */
function ask(plant: TestPlant, startMs: number, endMs: number, outcome = stored(plant)) {
  return { client: "a client", plant, startMs, endMs, deadlineMs, outcome };
}

function read(startMs: number, ...plants: readonly TestPlant[]): StoreRead {
  return { startMs, endMs: startMs + 10, rows: plants.map(storedForm) };
}

type Case = [
  title: string,
  requests: readonly RequestRecord[],
  reads: readonly StoreRead[],
  /** How long the machine kept any request waiting. */
  starvedMs?: number,
];

const acknowledged = ask(mine, 0, 10);
const cutOff = ask(mine, 0, 10, cut);
const empty = [read(100)];
const there = [read(100, mine)];
const thereLater = [read(20), read(100, mine)];
const longAfter = [read(latest + 1000, mine)];

const allowed: readonly Case[] = [
  ["retries at once and later", [acknowledged, ask(mine, 5, 15), ask(mine, 50, 60)], there],
  ["a race that one wins without ever hearing of it", [cutOff, ask(yours, 5, 10, taken)], there],
  ["an unknown one that is stored after it was given up", [ask(mine, 0, 10, late)], thereLater],
  ["a success after the begin of a read that misses it", [ask(mine, 0, 25)], thereLater],
  ["one that is late by what the machine took", [ask(mine, 0, latest + 700)], longAfter, 700],
];

const forbidden: Readonly<Record<ViolationKind, readonly Case[]>> = {
  created_twice: [
    ["no tag, an empty tag", [ask(untagged, 0, 10), ask(emptyTag, 20, 30)], [read(100, untagged)]],
  ],
  lost: [
    ["an acknowledged plant that is missing for a while", [acknowledged], thereLater],
    ["a plant that was seen, and is gone", [cutOff], [read(20, mine), ...empty]],
  ],
  changed: [
    ["an acknowledged plant without its tag", [ask(emptyTag, 0, 10)], [read(100, untagged)]],
  ],
  taken_from_owner: [
    ["ALREADY_EXISTS after an unknown end", [cutOff, ask(mine, 20, 30, taken)], there],
  ],
  taken_by_nobody: [
    ["ALREADY_EXISTS, and nobody has the id", [ask(mine, 0, 10, taken)], empty],
    ["taken before the winner", [ask(mine, 0, 10, taken), ask(yours, 20, 30)], [read(100, yours)]],
  ],
  unasked: [
    ["another plant than the one that was asked for", [cutOff], [read(100, renamed)]],
    ["a plant that was called invalid", [ask(mine, 0, 10, invalid)], there],
    ["a plant that is asked for only later", [ask(mine, 50, 60)], [read(20, mine), ...there]],
  ],
  wrong_answer: [["a success with another name", [ask(mine, 0, 10, stored(renamed))], there]],
  late: [
    ["an answer later than what the machine took", [ask(mine, 0, latest + 701)], longAfter, 700],
    ["no answer at all", [ask(mine, 0, 10, unanswered)], empty],
  ],
  refused: [
    ["a valid plant that was called invalid", [ask(mine, 0, 10, invalid)], empty],
    ["an internal error", [ask(mine, 0, 10, failed)], empty],
  ],
};

const kindsOf = (requests: readonly RequestRecord[], reads: readonly StoreRead[], ms = 0) =>
  checkHistory({ requests, reads, starvedMs: () => ms }).map(({ kind }) => kind);

test.each(allowed)("the model allows %s", (_title, requests, reads, starvedMs) => {
  expect(kindsOf(requests, reads, starvedMs)).toEqual([]);
});

describe.each(Object.entries(forbidden))("the model forbids %s:", (kind, cases) => {
  test.each(cases)("%s", (_title, requests, reads, starvedMs) => {
    expect(kindsOf(requests, reads, starvedMs)).toContain(kind);
  });
});
