import { type Command, Option } from "commander";
import { type Named, type SchemaEntry, variableOf } from "./schema.ts";
import { formatValue, type Setting } from "./setting.ts";

/** Adds flags for settings, all of them or those named, and for the file that has any. */
export function addSettingFlags(program: Named, command: Command, ...only: readonly string[]) {
  for (const entry of program.entries) {
    const { setting, name } = entry;
    const isAsked = only.length === 0 || only.includes(name);
    if (!isAsked || setting.from === "file") continue;
    if (setting.from === "variable") {
      const note = `${variableOf(program, name)}, which has no flag:\n  ${describe(setting)}.`;
      command.addHelpText("after", `\n${note}`);
    } else command.addOption(createOption(program, entry));
  }
  const variable = variableOf(program, "config");
  const config = new Option("--config <file>", `file of settings in YAML (env: ${variable})`);
  return command.addOption(config);
}

/** Without defaults and variables of commander, because the command line is not the only source. */
function createOption(program: Named, { setting, name }: SchemaEntry): Option {
  const extra = `default: ${formatValue(setting.default) || "none"}, env: ${variableOf(program, name)}`;
  const isOptional = setting.type === "list" && setting.isBareFlag === true;
  const placeholder = setting.type === "switch" ? "on|off" : setting.placeholder;
  const [begin, end] = isOptional || setting.type === "switch" ? "[]" : "<>";
  const option = new Option(
    `--${name} ${begin}${placeholder}${end}`,
    `${describe(setting)} (${extra})`,
  );
  // A list may also be given by repeating its flag.
  const join = (text: string, before?: string | boolean) =>
    typeof before === "string" ? `${before},${text}` : text;
  return setting.type === "list" ? option.argParser(join) : option;
}

function describe(setting: Setting): string {
  const text = setting.summary.replaceAll("`", "");
  const unit = setting.type === "integer" && setting.unit ? `, in ${setting.unit}` : "";
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}${unit}`;
}
