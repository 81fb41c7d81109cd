/** What an operator wrote, as a value of its setting. */
import { describe, expect, test } from "vitest";
import { authSettings as auth } from "../../src/auth/settings.ts";
import { common } from "../../src/settings/common.ts";
import { findProblem, on, parseSetting, type Setting } from "../../src/settings/schema.ts";

const { port, host } = common.listener;
const health = on("One");
describe("a value", () => {
  test.each<[Setting, text: string, value: unknown]>([
    [port, "0", 0],
    [port, "08080", 8080],
    [port, "65536", 65_536],
    [health, "on", true],
    [health, "off", false],
    [host, "::", "::"],
    [host, "", ""],
    [auth.jwtIssuer, "a, b", "a, b"],
    [auth.tokens, "", []],
    [auth.tokens, "  ", []],
    [auth.tokens, "one", ["one"]],
    [auth.tokens, " one ,\n two=\n", ["one", "two="]],
    [auth.tokens, "one,,", ["one", "", ""]],
  ])("of %j from %j is %j", (setting, text, value) => {
    expect(parseSetting(setting, text)).toEqual(value);
  });

  test.each(["", " 1", "-1", "1.0", "1e3", "0x1", "1_000", "12345678901", "one"])(
    "that is no whole number is refused: %j",
    (text) => {
      const problem = `must be a whole number from 0 to 65535: ${text}`;
      expect(findProblem(port, parseSetting(port, text))).toBe(problem);
    },
  );
});
