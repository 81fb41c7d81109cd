/**
 * Thousands of random calls, the same on every run. For others:
 * `SEED=7 npm run test:differential -- packages/gateway/test/differential/generated.test.ts`. RUNS sets the number.
 */
import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import { anyCase, mixedCase, streamCase } from "./arbitrary-case.ts";
import type { Case } from "./case.ts";
import { expectSame } from "./comparison.ts";
import { openPair, type Pair } from "./pair.ts";

const seed = Number(process.env["SEED"] ?? 20261121);
const numRuns = Number(process.env["RUNS"] ?? 400);

let pair: Pair;

beforeAll(async () => {
  pair = await openPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

const kinds: readonly (readonly [what: string, cases: fc.Arbitrary<Case>])[] = [
  ["calls whose every part is by chance", anyCase],
  ["streams whose parts are by chance", streamCase],
  ["the request, the options and the script of any three rows", mixedCase],
];

test.each(kinds)(
  "%s",
  async (_what, cases) => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        count++;
        const replay = `request ${count}; SEED=${seed} RUNS=${numRuns} npm run test:differential -- packages/gateway/test/differential/generated.test.ts`;
        await expectSame(pair, given, replay);
      }),
      { seed, numRuns, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true },
    );
  },
  90_000,
);
