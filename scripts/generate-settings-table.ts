/** Rewrites the README's table of settings. */
import { readFileSync, writeFileSync } from "node:fs";
import { createSettingsTable, settingsTablePlace } from "./settings-table.ts";

const readme = new URL("../README.md", import.meta.url);
writeFileSync(
  readme,
  readFileSync(readme, "utf8").replace(settingsTablePlace, () => createSettingsTable()),
);
