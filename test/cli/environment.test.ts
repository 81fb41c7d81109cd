import { expect, test } from "vitest";
import { takeEnvironment } from "../../src/cli/settings/environment.ts";

test("secrets are taken out of the environment, and nothing else", () => {
  const variables = { PLANT_STORE_TOKENS: "secret", PLANT_STORE_PORT: "1", PATH: "/bin" };
  const { values } = takeEnvironment(variables);
  expect([...values]).toEqual([
    ["port", "1"],
    ["tokens", "secret"],
  ]);
  expect(variables).toEqual({ PLANT_STORE_PORT: "1", PATH: "/bin" });
});
