import { expect, test } from "vitest";
import { suggestName } from "../../src/settings/environment.ts";

const known = ["host", "port", "store", "base-path", "body-bytes-max", "tls-cert", "tls-key"];

test.each<[misspelt: string, meant: string | undefined]>([
  ["prot", "port"],
  ["pord", "port"],
  ["por", "port"],
  ["ports", "port"],
  ["stroe", "store"],
  ["basepath", "base-path"],
  ["body-max-bytes", "body-bytes-max"],
  ["tls-crt", "tls-cert"],
  ["tls-certificate", undefined],
  ["home", undefined],
  ["tag", undefined],
  ["version", undefined],
  ["", undefined],
  ["x".repeat(100_000), undefined],
])("%j was meant to be %j", (misspelt, meant) => {
  expect(suggestName(misspelt, known)).toBe(meant);
});
