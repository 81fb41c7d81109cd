import { afterAll, beforeAll, describe, test } from "vitest";
import { expectSame } from "./comparison.ts";
import { openPair, type Pair } from "./pair.ts";
import type { Tables } from "./rows/tables.ts";

/** Row by row: ours behaves like the stock adapter. */
export function testTables(tables: Tables): void {
  let pair: Pair;

  beforeAll(async () => {
    pair = await openPair();
  });

  afterAll(() => pair[Symbol.asyncDispose]());

  describe.each(Object.entries(tables))("%s:", (_name, rows) => {
    test.each(rows)("$what", async ({ cases }) => {
      for (const given of cases) await expectSame(pair, given);
    });
  });
}
