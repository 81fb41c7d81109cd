/** The shortest run of the campaign. */
import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { createRun } from "./campaign.ts";
import { kill } from "./kill.ts";

test("every plant that was confirmed survives kills at the start and under load", async () => {
  const { signal } = new AbortController();
  const seed = randomInt(2 ** 31);
  const run = createRun({ seed, minutes: 0, log: () => {}, signal });
  await kill.run(run);
  const { tried, found } = run;
  expect(found, `seed ${seed}`).toEqual([]);
  const underLoad = Object.keys(tried).filter((what) => what.endsWith(" kills"));
  expect(underLoad).toContain("SQLite kills");
  for (const what of underLoad) expect(tried[what], what).toBeGreaterThan(0);
});
