import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

test.each(mutants)("$name: what it breaks is there, once", ({ file, find }) => {
  expect(readFileSync(file, "utf8").split(find)).toHaveLength(2);
});
