/** Streams that are not as connect-node has them: each row of the list has a case that shows it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { differencesOf } from "./comparison.ts";
import { openPair, type Pair } from "./pair.ts";
import { callTables, requestTables } from "./rows/tables.ts";

let pair: Pair;

beforeAll(async () => {
  pair = await openPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

const rows = Object.values({ ...requestTables, ...callTables }).flat();
const listed = rows.flatMap(({ what, unlike }) => {
  // A body without an end takes connect-node as long as its client waits.
  const cases = unlike?.cases.filter(({ request }) => request.end !== "open") ?? [];
  return cases.length === 0 ? [] : [{ what, why: unlike?.why, cases }];
});

describe.each([...new Set(listed.map(({ why }) => why))])("%s:", (reason) => {
  test.each(listed.filter(({ why }) => why === reason))("$what", async ({ cases }) => {
    for (const given of cases) {
      if ((await differencesOf(pair, given)).length > 0) return;
    }
    expect.fail("no stream differs: take it off the list");
  });
});
