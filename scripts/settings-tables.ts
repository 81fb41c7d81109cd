/** Where the tables of settings are in the docs, and what they say by the schemas. */
import { proxyProgram } from "../packages/proxy/src/cli/settings.ts";
import { storeUrl } from "../src/server/postgres-url.ts";
import { plantStore } from "../src/server/settings.ts";
import { createSettingsTable, settingsTablePlace } from "./settings-table.ts";

export const settingsTables = [
  { page: "docs/settings.md", place: settingsTablePlace, table: createSettingsTable(plantStore) },
  {
    page: "docs/postgresql.md",
    place: settingsTablePlace,
    table: createSettingsTable(storeUrl, "Option"),
  },
  {
    page: "packages/proxy/docs/settings.md",
    place: settingsTablePlace,
    table: createSettingsTable(proxyProgram),
  },
];
