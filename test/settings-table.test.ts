import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSettingsTable, settingsTablePlace } from "../scripts/settings-table.ts";

test("docs/settings.md has the table that `npm run generate` creates from the schema", () => {
  const page = readFileSync(new URL("../docs/settings.md", import.meta.url), "utf8");
  expect(settingsTablePlace.exec(page)?.[0]).toBe(createSettingsTable());
});
