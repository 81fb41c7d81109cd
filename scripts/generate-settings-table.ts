/** Writes the tables of settings in the docs of both programs. */
import { readFileSync, writeFileSync } from "node:fs";
import { settingsTables } from "./settings-tables.ts";

for (const { page, place, table } of settingsTables) {
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(place, () => table),
  );
}
