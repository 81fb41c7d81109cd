/** Writes the table of settings in docs/settings.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { createSettingsTable, settingsTablePlace } from "./settings-table.ts";

const readme = new URL("../docs/settings.md", import.meta.url);
writeFileSync(
  readme,
  readFileSync(readme, "utf8").replace(settingsTablePlace, () => createSettingsTable()),
);
