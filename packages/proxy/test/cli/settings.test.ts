import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { proxyProgram } from "../../src/cli/settings.ts";

test("the page says which options of the libraries all settings are", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/settings.md"), "utf8");
  const [, section = ""] = page.split(/^## Options of the libraries$/m);
  const cells = [...section.matchAll(/^\| (`[^|]*)/gm)].map(([, cell = ""]) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(named.sort()).toEqual(proxyProgram.entries.map(({ name }) => name).sort());
});
