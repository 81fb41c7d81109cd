import { Command } from "commander";
import { type SchemaEntry, schemaEntries } from "../server/settings/schema.ts";
import { formatValue, type Setting } from "../server/settings/setting.ts";
import { assertTlsFiles } from "../server/settings/tls-files.ts";
import { addSettingFlags } from "./settings/flags.ts";
import { assembleOptions, type Flags, type GivenValue, readGiven } from "./settings/given.ts";
import { describeOrigin } from "./settings/origin.ts";
import { readSettings } from "./settings/read.ts";
import { WrongSettings } from "./settings/wrong-settings.ts";

/** `plant-store config`: what a server would be started with, without starting it. */
export function createConfigCommand(): Command {
  const command = new Command("config").description("Show or check the settings of the server.");
  const show = command
    .command("show")
    .description("Show every setting, its value (secrets hidden) and its source.")
    .action(showSettings);
  const check = command
    .command("check")
    .description(
      "Exit with 0 if serve accepts the settings, else print every problem and exit with 2.",
    )
    .action(checkSettings);
  addSettingFlags(show);
  addSettingFlags(check);
  return command;
}

async function showSettings(flags: Flags): Promise<void> {
  const given = await readGiven(flags);
  for (const line of given.warnings) process.stderr.write(`plant-store: ${line}\n`);
  const { problems, wrong } = assembleOptions(given);
  const rows = schemaEntries.map((entry) =>
    createRow(entry, given.values.get(entry.name), wrong.has(entry.name)),
  );
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const valueWidth = Math.min(valueWidthMax, Math.max(...rows.map(({ value }) => value.length)));
  for (const { name, value, origin } of rows) {
    process.stdout.write(`${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`);
  }
  if (problems.length > 0) throw new WrongSettings(problems);
}

/** A longer value pushes its origin aside, and no other. */
const valueWidthMax = 48;

function createRow(entry: SchemaEntry, given: GivenValue | undefined, isWrong: boolean) {
  const { setting, name } = entry;
  const origin = describeOrigin(entry, given?.origin ?? { kind: "default" });
  if (given === undefined) return { name, value: formatValue(setting.default) || "none", origin };
  // With a typo, any part of a URL may be the password.
  const isHidden = setting.secret === "whole" || (setting.secret === "password" && isWrong);
  return { name, value: isHidden ? hidden : showText(setting, given.text), origin };
}

const hidden = "(hidden)";

function showText(setting: Setting, text: string): string {
  const shown = setting.secret === "password" ? hidePassword(text) : text;
  const isPlain = shown !== "" && !/[\p{Cc}\u2028\u2029]/u.test(shown);
  return isPlain ? shown : JSON.stringify(shown);
}

function hidePassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^:@/?#]*):[^@/?#]*@/, `$1:${hidden}@`);
}

async function checkSettings(flags: Flags): Promise<void> {
  const { settings, use } = await readSettings(flags);
  await use(async () => {
    if (settings.tls !== undefined) assertTlsFiles(settings.tls);
  });
  process.stdout.write("the settings are valid\n");
}
