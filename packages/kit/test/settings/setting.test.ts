/** What an operator wrote, as a value of its setting. */
import { describe, expect, test } from "vitest";
import { authSettings as auth } from "../../src/auth/settings.ts";
import { common } from "../../src/settings/common.ts";
import {
  findProblem,
  formatValue,
  parseSetting,
  type Setting,
  type SettingValue,
} from "../../src/settings/schema.ts";

const { port, host } = common.listener;
const basePath: Setting = {
  type: "text",
  default: "",
  placeholder: "path",
  summary: "One",
  pattern: { form: /^(\/\w+)*$/, rule: "must look like /api" },
};
const described = { placeholder: "value", summary: "One" };
const health: Setting = { ...described, type: "switch", default: true };
const adminPort: Setting = { ...port, default: undefined };
const origins: Setting = {
  ...described,
  type: "list",
  default: [],
  check: (values) => (values.includes("") ? "one is empty" : undefined),
};

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

  test.each(["", "true", "1", "On", "yes"])("that is not on or off is refused: %j", (text) => {
    const problem = "must be on or off";
    expect(findProblem(health, parseSetting(health, text))).toBe(problem);
  });

  test.each<[SettingValue, text: string]>([
    [undefined, ""],
    ["", ""],
    ["a", "a"],
    [0, "0"],
    [true, "on"],
    [false, "off"],
    [[], ""],
    [["a", "b"], "a,b"],
  ])("%j is written %j", (value, text) => {
    expect(formatValue(value)).toBe(text);
  });

  test.each<[Setting, value: SettingValue, problem: RegExp | undefined]>([
    [port, 65_535, undefined],
    [port, 65_536, /from 0 to 65535: 65536$/],
    [port, undefined, /from 0 to 65535/],
    [adminPort, undefined, undefined],
    [adminPort, 65_536, /from 0 to 65535: 65536$/],
    [health, false, undefined],
    [health, "off", /must be on or off/],
    [origins, ["a"], undefined],
    [origins, ["a", ""], /one is empty/],
    [host, "", /must not be empty/],
    [basePath, "/api", undefined],
    [basePath, "api", /must look like/],
    [auth.jwtIssuer, undefined, undefined],
  ])("is checked: %j, %j", (setting, value, problem) => {
    const found = findProblem(setting, value);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });
});
