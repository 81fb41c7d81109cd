import { type Command, Option } from "commander";
import { type SchemaEntry, schemaEntries } from "../../server/settings/schema.ts";
import { formatValue, type Setting } from "../../server/settings/setting.ts";
import { variableOf } from "./origin.ts";

/** Adds flags for settings, all of them or those named, and for the file that has any. */
export function addSettingFlags(command: Command, ...only: readonly string[]): Command {
  for (const entry of schemaEntries) {
    const isAsked = only.length === 0 || only.includes(entry.name);
    if (!isAsked) continue;
    if (entry.setting.from === "variable") command.addHelpText("after", createNote(entry));
    else command.addOption(createOption(entry));
  }
  return command.addOption(
    new Option("--config <file>", `file of settings in YAML (env: ${variableOf("config")})`),
  );
}

/** No default and no variable of commander's: what is given is not all on the command line. */
function createOption({ setting, name }: SchemaEntry): Option {
  const extra = `default: ${formatValue(setting.default) || "none"}, env: ${variableOf(name)}`;
  return new Option(`--${name} <${setting.placeholder}>`, `${describe(setting)} (${extra})`);
}

function createNote({ setting, name }: SchemaEntry): string {
  return `\n${variableOf(name)}, which has no flag: ${describe(setting)}.`;
}

function describe(setting: Setting): string {
  const text = setting.summary.replaceAll("`", "");
  const unit = setting.type === "integer" && setting.unit ? `, in ${setting.unit}` : "";
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}${unit}`;
}
