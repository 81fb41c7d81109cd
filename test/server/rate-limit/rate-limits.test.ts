/** The limits that settings turn on. */
import { describe, expect, test } from "vitest";
import {
  createRateLimitMemories,
  createRateLimits,
} from "../../../src/server/rate-limit/rate-limits.ts";

const rates = [1, 2, 5, 10, 1000, 100_000];

describe.each(["perToken", "perAddress"] as const)("%s", (name) => {
  const setting = { perToken: "rateLimitPerToken", perAddress: "rateLimitPerAddress" }[name];
  const settingsOf = (perSecond: number) => ({
    ...{ rateLimitPerToken: 0, rateLimitPerAddress: 0 },
    [setting]: perSecond,
  });

  test.each(rates)("of %d a second is on, and the other is not", (perSecond) => {
    const settings = settingsOf(perSecond);
    const shared = createRateLimits(settings, createRateLimitMemories(settings));
    for (const limits of [createRateLimits(settings), shared]) {
      expect(limits[name]?.perSecond).toBe(perSecond);
      expect(limits[name === "perToken" ? "perAddress" : "perToken"]).toBeUndefined();
    }
  });

  test("of 0 is off", () => {
    expect(createRateLimits(settingsOf(0))[name]).toBeUndefined();
  });
});
