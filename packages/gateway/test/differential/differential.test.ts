/**
 * Ours behaves as connect-node's adapter does: gate, interceptors, implementation and client see the
 * same, except for the list of differences. Words of the libraries are not compared.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { doors, isUnary } from "./call.ts";
import { differences } from "./differences.ts";
import { openPair, type Pair } from "./pair.ts";
import { caseOf, tables } from "./rows.ts";

let pair: Pair;

beforeAll(async () => {
  pair = await openPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

describe.each(Object.entries(tables))("%s:", (_name, rows) => {
  test.each(rows)("$what", async (row) => {
    for (const door of doors.filter((one) => row.on?.(one) ?? true)) {
      const { stock, ours } = await pair.run(caseOf(door, row));
      for (const one of ours) expect.soft(one, JSON.stringify(door)).toEqual(stock);
    }
  });
});

/** Others than those of each run: `SEED=7 RUNS=1000 npm run test:differential`. */
test("the request, the options and the application of any three rows", async () => {
  const { SEED: seed = "20261121", RUNS: numRuns = "200" } = process.env;
  const { ends: _ends, negotiation: _negotiation, messages: _messages, ...mixable } = tables;
  const any = fc.constantFrom(...Object.values(mixable).flat());
  const property = fc.asyncProperty(any, any, any, fc.nat(), async (one, two, three, at) => {
    const fitting = doors
      .filter(isUnary)
      .filter((door) => [one, two, three].every(({ on }) => on?.(door) ?? true));
    const door = fitting[at % fitting.length];
    if (door === undefined) return;
    const { call = {}, setup = {}, app = {} } = { ...one, setup: two.setup, app: three.app };
    const { stock, ours } = await pair.run(caseOf(door, { what: "mixed", call, setup, app }));
    for (const side of ours) expect(side, JSON.stringify(door)).toEqual(stock);
  });
  await fc.assert(property, { seed: Number(seed), numRuns: Number(numRuns) });
});

test.each(differences)("a difference: $what", async ({ ours: wanted, ...row }) => {
  for (const door of doors.filter(row.on)) {
    const { stock, ours } = await pair.run(caseOf(door, row));
    for (const one of ours) {
      expect.soft(one, JSON.stringify(door)).toMatchObject(wanted);
      expect.soft(one, "listed, and none").not.toEqual(stock);
    }
  }
});
