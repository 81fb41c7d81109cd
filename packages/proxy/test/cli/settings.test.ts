import { findProblem } from "connect-gateway-kit/settings";
import { expect, test } from "vitest";
import { proxyProgram } from "../../src/cli/settings.ts";

test("the schema has no name twice", () => {
  const names = proxyProgram.entries.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(proxyProgram.entries.map((entry) => [entry.name, entry.setting] as const))(
  "the schema takes its own default of %s",
  (_, setting) => {
    expect(findProblem(setting, setting.default)).toBeUndefined();
  },
);
