import { expect, test } from "vitest";
import { takeEnvironment } from "../../src/settings/environment.ts";
import { createSchema } from "../../src/settings/schema.ts";

const setting = { type: "text", default: "", placeholder: "text", summary: "One" } as const;
const program = {
  name: "library",
  variablePrefix: "LIBRARY_",
  otherVariables: [],
  entries: createSchema(
    { port: setting, tokens: { ...setting, from: "variable", secret: "whole" } },
    () => [],
  ).entries,
};

test("secrets are taken out of the environment, and nothing else", () => {
  const variables = { LIBRARY_TOKENS: "secret", LIBRARY_PORT: "1", PATH: "/bin" };
  const { values } = takeEnvironment(program, variables);
  expect([...values].sort()).toEqual([
    ["port", "1"],
    ["tokens", "secret"],
  ]);
  expect(variables).toEqual({ LIBRARY_PORT: "1", PATH: "/bin" });
});
