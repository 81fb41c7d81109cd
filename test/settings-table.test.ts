import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsTables } from "../scripts/settings-tables.ts";

test.each(settingsTables)(
  "$page has the table that `npm run generate` creates from the schema",
  ({ page, place, table }) => {
    expect(place.exec(readFileSync(page, "utf8"))?.[0]).toBe(table);
  },
);
