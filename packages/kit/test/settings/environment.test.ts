import { expect, test } from "vitest";
import { takeEnvironment } from "../../src/settings/environment.ts";
import { createProgram, text } from "../../src/settings/schema.ts";

const program = createProgram({
  ...{ name: "library", variablePrefix: "LIBRARY_", otherVariables: [] },
  schema: {
    port: text("One", { secret: "password" }),
    tokens: text("One", { from: "variable", secret: "whole" }),
  },
  findContradictions: () => [],
  finish: (values) => values,
});

test("secrets are taken out of the environment, and nothing else", () => {
  const variables = { LIBRARY_TOKENS: "secret", LIBRARY_PORT: "1", PATH: "/bin" };
  const { values } = takeEnvironment(program, variables);
  expect([...values].map(([name, { text }]) => [name, text]).sort()).toEqual([
    ["port", "1"],
    ["tokens", "secret"],
  ]);
  expect(variables).toEqual({ LIBRARY_PORT: "1", PATH: "/bin" });
});

test.each(["LIBRARY_PORT", "LIBRARY_PORT_80_TCP_ADDR", "LIBRARY_SERVICE_HOST"])(
  "%s of a link to a service is no setting, nor nearly one",
  (variable) => {
    const { values, ...told } = takeEnvironment(program, { [variable]: "tcp://10.0.0.1:80" });
    expect([values.size, told]).toEqual([0, { problems: [], warnings: [] }]);
  },
);
