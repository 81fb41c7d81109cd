/** The table of settings in a page of docs, generated from the schema. */

import {
  formatValue,
  type Named,
  type SchemaEntry,
  type Setting,
  variableOf,
} from "../packages/kit/src/settings/schema.ts";

/** Its place in the page. */
export const settingsTablePlace =
  /(?<=<!-- settings: `npm run generate` makes this table -->\n\n).*?(?=\n\n<!-- \/settings -->)/s;

/** A Markdown table. @param head Of the names. */
export function createSettingsTable(program: Named, head = "Flag"): string {
  const rows = program.entries.map((entry) => createRow(program, entry));
  return [[head, "Default", "Meaning"], ["---", "---", "---"], ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

function createRow(program: Named, { setting, name }: SchemaEntry): readonly string[] {
  const variable = variableOf(program, name);
  const written = { variable, file: `${name}:`, url: name, flag: `--${name}` }[
    setting.from ?? "flag"
  ];
  return [`\`${written}\``, describeDefault(setting), setting.summary];
}

function describeDefault(setting: Setting): string {
  const text = formatValue(setting.default);
  if (text === "") return "none";
  if (setting.type === "integer") return describeNumber(Number(text), setting.unit);
  return `\`${text}\``;
}

/** Large numbers in readable form: `1 MiB`, `10 s`, `10,000`. */
function describeNumber(number: number, unit: Setting["unit"]): string {
  if (unit === undefined) return number >= 10_000 ? number.toLocaleString("en-US") : `${number}`;
  const scales = { MiB: 2 ** 20, KiB: 2 ** 10, s: 1000, bytes: 1, ms: 1 };
  const names = { bytes: ["MiB", "KiB", "bytes"], ms: ["s", "ms"] } as const;
  const isWhole = (name: keyof typeof scales) => number > 0 && number % scales[name] === 0;
  const name = names[unit].find(isWhole) ?? unit;
  return `${number / scales[name]} ${name}`;
}
