import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSettingsTable, settingsTablePlace } from "../scripts/settings-table.ts";

test("the README's table of settings is what `npm run generate` makes of the schema", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  expect(settingsTablePlace.exec(readme)?.[0]).toBe(createSettingsTable());
});
