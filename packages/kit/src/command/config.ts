import { Command } from "commander";
import {
  addSettingFlags,
  assembleOptions,
  type Flags,
  flagsOf,
  readGiven,
  readSettings,
  warn,
} from "../settings/given.ts";
import { formatValue, type Program, type Setting, SettingsError } from "../settings/schema.ts";

/** `config`: shows the settings of a start. @param assertFiles Throws a SettingsError for invalid files. */
export function createConfigCommand<Options, Settings>(
  program: Program<Options, Settings>,
  assertFiles: (settings: Settings) => void,
): Command {
  const command = new Command("config").description("Show or check the settings of the server.");
  addSettingFlags(program, command.command("show"))
    .description("Show every setting, its value (secrets hidden) and its source.")
    .action((_: Flags, own: Command) => showSettings(program, flagsOf(own)));
  addSettingFlags(program, command.command("check"))
    .description("Exit with 0 if the settings are valid, else with 2 and every problem.")
    .action(async (_: Flags, own: Command) => {
      const { settings, use } = await readSettings(program, flagsOf(own));
      await use(async () => assertFiles(settings));
      process.stdout.write("the settings are valid\n");
    });
  return command;
}

async function showSettings<O, S>(program: Program<O, S>, flags: Flags): Promise<void> {
  const given = await readGiven(program, flags);
  warn(program, given);
  const { problems, wrong } = assembleOptions(program, given);
  const rows = program.entries.map(({ name, setting }) => {
    const { text, origin = "default" } = given.values.get(name) ?? {};
    if (text === undefined) return { name, value: formatValue(setting.default) || "none", origin };
    // With a typo, any part of a URL may be the password.
    const isHidden =
      setting.secret === "whole" || (setting.secret === "password" && wrong.has(name));
    return { name, value: isHidden ? hidden : showText(setting, text), origin };
  });
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const valueWidth = Math.min(valueWidthMax, Math.max(...rows.map(({ value }) => value.length)));
  for (const { name, value, origin } of rows) {
    process.stdout.write(`${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`);
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

/** A longer value pushes its origin aside, and no other. */
const valueWidthMax = 48;

const hidden = "(hidden)";

function showText(setting: Setting, text: string): string {
  const password = /^(\w+:\/\/[^:@/?#]*):[^@/?#]*@/;
  const shown = setting.secret === "password" ? text.replace(password, `$1:${hidden}@`) : text;
  return shown !== "" && !/[\p{Cc}\u2028\u2029]/u.test(shown) ? shown : JSON.stringify(shown);
}
