import { type Command, Option } from "commander";
import { type Named, type SchemaEntry, variableOf } from "./schema.ts";
import { formatValue, type Setting } from "./setting.ts";

/** Adds flags for settings, all of them or those named, and for the file that has any. */
export function addSettingFlags(
  program: Named,
  command: Command,
  ...only: readonly string[]
): Command {
  for (const entry of program.entries) {
    const isAsked = only.length === 0 || only.includes(entry.name);
    if (!isAsked || entry.setting.from === "file") continue;
    if (entry.setting.from === "variable") {
      command.addHelpText("after", `\n${createNote(program, entry)}`);
    } else command.addOption(createOption(program, entry));
  }
  const variable = variableOf(program, "config");
  const config = new Option("--config <file>", `file of settings in YAML (env: ${variable})`);
  return command.addOption(config);
}

/** No default and no variable of commander's: what is given is not all on the command line. */
function createOption(program: Named, { setting, name }: SchemaEntry): Option {
  const extra = `default: ${formatValue(setting.default) || "none"}, env: ${variableOf(program, name)}`;
  const value = placeholderOf(setting);
  const option = new Option(`--${name} ${value}`, `${describe(setting)} (${extra})`);
  // A list may also be given by repeating its flag.
  const join = (text: string, before?: string | boolean) =>
    typeof before === "string" ? `${before},${text}` : text;
  return setting.type === "list" ? option.argParser(join) : option;
}

function placeholderOf(setting: Setting): string {
  if (setting.type === "switch") return "[on|off]";
  const isOptional = setting.type === "list" && setting.isBareFlag === true;
  return isOptional ? `[${setting.placeholder}]` : `<${setting.placeholder}>`;
}

function createNote(program: Named, { setting, name }: SchemaEntry): string {
  return `${variableOf(program, name)}, which has no flag:\n  ${describe(setting)}.`;
}

function describe(setting: Setting): string {
  const text = setting.summary.replaceAll("`", "");
  const unit = setting.type === "integer" && setting.unit ? `, in ${setting.unit}` : "";
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}${unit}`;
}
