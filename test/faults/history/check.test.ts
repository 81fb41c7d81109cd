/** The checker finds each kind of violation in a history, and accepts what the model allows. */
import { describe, expect, test } from "vitest";
import { storedForm } from "../../support/stored-plants.ts";
import { checkHistory, deadlineSlackMs } from "./check.ts";
import type { RequestOutcome, RequestRecord, StoreRead, TestPlant } from "./history.ts";

const mine: TestPlant = { id: 1n, name: "Basil", tag: "herb" };
const yours: TestPlant = { id: 1n, name: "Basil", tag: "tree" };
const untagged: TestPlant = { id: 1n, name: "Basil" };
const emptyTag: TestPlant = { id: 1n, name: "Basil", tag: "" };

const deadlineMs = 1000;
const taken: RequestOutcome = { kind: "taken" };
const invalid: RequestOutcome = { kind: "invalid" };
const unknown = (why: "deadline" | "unavailable" | "cut" | "unanswered"): RequestOutcome => ({
  kind: "unknown",
  why,
});

function stored({ id: _, ...answer }: TestPlant): RequestOutcome {
  return { kind: "stored", answer };
}

/** From one moment to another, in ms. */
function ask(
  plant: TestPlant,
  [startMs, endMs]: readonly [number, number],
  outcome: RequestOutcome = stored(plant),
): RequestRecord {
  return { client: "a client", plant, startMs, endMs, deadlineMs, outcome };
}

function read(startMs: number, ...plants: readonly TestPlant[]): StoreRead {
  return { startMs, endMs: startMs + 10, rows: plants.map(storedForm) };
}

const latest = deadlineMs + deadlineSlackMs;

interface Case {
  readonly title: string;
  readonly requests?: readonly RequestRecord[];
  readonly reads?: readonly StoreRead[];
  /** How long the machine kept any request waiting. */
  readonly starvedMs?: number;
}

const allowed: readonly Case[] = [
  { title: "nothing at all", reads: [read(100)] },
  { title: "a success", requests: [ask(mine, [0, 10])], reads: [read(100, mine)] },
  {
    title: "retries of the owner, at once and later",
    requests: [ask(mine, [0, 10]), ask(mine, [5, 15]), ask(mine, [50, 60])],
    reads: [read(100, mine)],
  },
  {
    title: "a race that one wins",
    requests: [ask(mine, [0, 10]), ask(yours, [0, 10], taken), ask(yours, [20, 30], taken)],
    reads: [read(100, mine)],
  },
  {
    title: "a race that one wins without ever hearing of it",
    requests: [ask(mine, [0, 10], unknown("cut")), ask(yours, [5, 10], taken)],
    reads: [read(100, mine)],
  },
  {
    title: "taken, and the winner hears of it much later, from a retry",
    requests: [
      ask(mine, [0, 10], unknown("cut")),
      ask(yours, [20, 30], taken),
      ask(mine, [40, 50]),
    ],
    reads: [read(100, mine)],
  },
  {
    title: "an unknown one that was not stored",
    requests: [ask(mine, [0, 10], unknown("unavailable"))],
    reads: [read(100)],
  },
  {
    title: "an unknown one that is stored after it was given up",
    requests: [ask(mine, [0, 10], unknown("deadline"))],
    reads: [read(20), read(100, mine)],
  },
  {
    title: "a success after the begin of a read that misses it",
    requests: [ask(mine, [0, 25])],
    reads: [read(20), read(100, mine)],
  },
  {
    title: "one that ends at the last moment",
    requests: [ask(mine, [0, latest])],
    reads: [read(latest, mine)],
  },
  {
    title: "one that is late by no more than the machine kept it waiting",
    requests: [ask(mine, [0, latest + 700])],
    reads: [read(latest + 1000, mine)],
    starvedMs: 700,
  },
];

const forbidden: readonly (Case & { readonly kind: string })[] = [
  {
    kind: "created_twice",
    title: "two plants of one id, both stored",
    requests: [ask(mine, [0, 10]), ask(yours, [0, 10])],
    reads: [read(100, mine)],
  },
  {
    kind: "created_twice",
    title: "no tag and an empty one, both stored",
    requests: [ask(untagged, [0, 10]), ask(emptyTag, [20, 30])],
    reads: [read(100, untagged)],
  },
  {
    kind: "lost",
    title: "an acknowledged plant that is not there",
    requests: [ask(mine, [0, 10])],
    reads: [read(100)],
  },
  {
    kind: "lost",
    title: "an acknowledged plant that is missing for a while",
    requests: [ask(mine, [0, 10])],
    reads: [read(20), read(100, mine)],
  },
  {
    kind: "lost",
    title: "a plant that was seen, and is gone",
    requests: [ask(mine, [0, 10], unknown("cut"))],
    reads: [read(20, mine), read(100)],
  },
  {
    kind: "changed",
    title: "an acknowledged plant that was overwritten",
    requests: [ask(mine, [0, 10]), ask(yours, [20, 30], unknown("cut"))],
    reads: [read(100, yours)],
  },
  {
    kind: "changed",
    title: "an acknowledged plant without its tag",
    requests: [ask(emptyTag, [0, 10])],
    reads: [read(100, untagged)],
  },
  {
    kind: "changed",
    title: "a plant that was seen, and is another one later",
    requests: [ask(mine, [0, 10], unknown("cut")), ask(yours, [0, 10], unknown("cut"))],
    reads: [read(20, mine), read(100, yours)],
  },
  {
    kind: "taken_from_owner",
    title: "ALREADY_EXISTS to a retry after a success",
    requests: [ask(mine, [0, 10]), ask(mine, [20, 30], taken)],
    reads: [read(100, mine)],
  },
  {
    kind: "taken_from_owner",
    title: "ALREADY_EXISTS to a retry after an unknown end",
    requests: [ask(mine, [0, 10], unknown("cut")), ask(mine, [20, 30], taken)],
    reads: [read(100, mine)],
  },
  {
    kind: "taken_by_nobody",
    title: "ALREADY_EXISTS, and nobody has the id",
    requests: [ask(mine, [0, 10], taken)],
    reads: [read(100)],
  },
  {
    kind: "taken_by_nobody",
    title: "ALREADY_EXISTS before the winner had asked",
    requests: [ask(mine, [0, 10], taken), ask(yours, [20, 30])],
    reads: [read(100, yours)],
  },
  { kind: "unasked", title: "a plant out of nowhere", reads: [read(100, mine)] },
  {
    kind: "unasked",
    title: "another plant than the one that was asked for",
    requests: [ask(mine, [0, 10], unknown("cut"))],
    reads: [read(100, { ...mine, name: "basil" })],
  },
  {
    kind: "unasked",
    title: "a plant that was called invalid",
    requests: [ask(mine, [0, 10], invalid)],
    reads: [read(100, mine)],
  },
  {
    kind: "unasked",
    title: "a plant that is asked for only later",
    requests: [ask(mine, [50, 60])],
    reads: [read(20, mine), read(100, mine)],
  },
  {
    kind: "wrong_answer",
    title: "a success with another name",
    requests: [ask(mine, [0, 10], stored({ ...mine, name: "basil" }))],
    reads: [read(100, mine)],
  },
  {
    kind: "wrong_answer",
    title: "a success with a tag that was not asked for",
    requests: [ask(untagged, [0, 10], stored(emptyTag))],
    reads: [read(100, untagged)],
  },
  {
    kind: "late",
    title: "an answer after deadline and slack",
    requests: [ask(mine, [0, latest + 1])],
    reads: [read(latest + 10, mine)],
  },
  {
    kind: "late",
    title: "an answer that is later than the machine kept it waiting",
    requests: [ask(mine, [0, latest + 701])],
    reads: [read(latest + 1000, mine)],
    starvedMs: 700,
  },
  {
    kind: "late",
    title: "no answer at all",
    requests: [ask(mine, [0, 10], unknown("unanswered"))],
    reads: [read(100)],
  },
  {
    kind: "refused",
    title: "a valid plant that was called invalid",
    requests: [ask(mine, [0, 10], invalid)],
    reads: [read(100)],
  },
  {
    kind: "refused",
    title: "an internal error",
    requests: [ask(mine, [0, 10], { kind: "failed", reason: "internal" })],
    reads: [read(100)],
  },
];

const kindsOf = ({ requests = [], reads = [], starvedMs = 0 }: Case) =>
  checkHistory({ requests, reads, starvedMs: () => starvedMs }).map(({ kind }) => kind);

describe("the model allows", () => {
  test.each(allowed)("$title", (history) => {
    expect(kindsOf(history)).toEqual([]);
  });
});

describe("the model forbids", () => {
  test.each(forbidden)("$kind: $title", ({ kind, ...history }) => {
    expect(kindsOf(history)).toContain(kind);
  });

  test("one violation hides no other, and each names its plant", () => {
    const other = { ...mine, id: -(2n ** 63n) };
    const requests = [ask(mine, [0, 10]), ask(other, [0, 10])];
    const violations = checkHistory({ requests, reads: [read(100)] });
    expect(violations.map(({ text }) => text)).toEqual([
      expect.stringContaining("plant 1:"),
      expect.stringContaining("plant -9223372036854775808:"),
    ]);
  });
});
