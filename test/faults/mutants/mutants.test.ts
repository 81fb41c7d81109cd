import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

test.each(mutants)("$name: the code to break occurs once", ({ file, find }) => {
  expect(readFileSync(file, "utf8").split(find)).toHaveLength(2);
});

const files = new Set(mutants.map(({ campaign }) => campaign).filter((name) => /\//.test(name)));

test.each([...files])("%s exists, which some of them use as a campaign", (file) => {
  expect(existsSync(file)).toBe(true);
});
