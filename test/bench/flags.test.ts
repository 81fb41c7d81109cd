import { expect, test } from "vitest";
import { parseFlags } from "../../bench/flags.ts";

test("a sync is delayed by the milliseconds that are asked for", () => {
  expect(parseFlags(["--sync-delay-ms", "20"]).syncDelayMs).toBe(20);
  expect(parseFlags([]).syncDelayMs).toBeUndefined();
});

test.each(["0", "-1", "1.5", "5ms", "", "10001"])("a delay of %j is refused", (text) => {
  expect(() => parseFlags([`--sync-delay-ms=${text}`])).toThrow(
    `--sync-delay-ms is ${text}; use a whole number from 1 to 10000`,
  );
});

test("parts run in the order of the bench", () => {
  expect(parseFlags(["--only", "latency", "--only", "rates"]).parts).toEqual(["rates", "latency"]);
  expect(() => parseFlags(["--only", "speed"])).toThrow("there is no part speed");
});
