import { type Command, Option } from "commander";
import { takeEnvironment } from "./environment.ts";
import {
  formatValue,
  type Named,
  type Program,
  parseSetting,
  problemsOf,
  type SchemaEntry,
  type Setting,
  type SettingProblem,
  SettingsError,
  setOption,
  variableOf,
} from "./schema.ts";

export type GivenSettings = Awaited<ReturnType<typeof readGiven>>;

/** Flags as commander has them: by their names in camel case, those of the command among them. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** Those after the command, and before it. */
export const flagsOf = (own: Command): Flags => ({ ...own.optsWithGlobals(), ...own.opts() });

/** The given settings by name: flags override the environment, which overrides a file. */
export async function readGiven(program: Named, flags: Flags) {
  const environment = takeEnvironment(program, process.env);
  const path = textOf(flags["config"]) ?? environment.values.get("config")?.text;
  const types = new Map(program.entries.map(({ name, setting }) => [name, setting.type]));
  // YAML is loaded where there is some alone, for the sake of the start.
  const file =
    path !== undefined && (await (await import("./config-file.ts")).readConfigFile(path, types));
  const values = new Map([...(file ? file.values : []), ...environment.values]);
  for (const { name, id } of program.entries) {
    const text = textOf(flags[id]);
    const written = `--${name}`;
    if (text !== undefined) values.set(name, { text, written, origin: `flag ${written}` });
  }
  const problems = [...environment.problems, ...(file ? file.problems : [])];
  return { values, problems, warnings: environment.warnings };
}

/** A switch without a value is on. */
function textOf(flag: Flags[string]): string | undefined {
  return flag === true ? "on" : flag || (flag === "" ? "" : undefined);
}

/** Reads all settings, or those named. @throws {SettingsError} in the operator's words. */
export async function readSettings<Options, Settings>(
  program: Program<Options, Settings>,
  flags: Flags,
  ...only: readonly string[]
) {
  const all = await readGiven(program, flags);
  const isUsed = (name: string) => only.length === 0 || only.includes(name);
  const given = { ...all, values: new Map([...all.values].filter(([name]) => isUsed(name))) };
  warn(program, given);
  const { options, problems } = assembleOptions(program, given, isUsed);
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    options,
    /** The same, whole. A command that uses some settings need not have those of others. */
    get settings() {
      return program.resolve(options);
    },
    /** Names settings in later problems as the operator wrote them. */
    async use<T>(work: () => Promise<T>): Promise<T> {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        throw new SettingsError(error.problems.map((one) => nameProblem(program, one, given)));
      }
    },
  };
}

export function warn({ name }: Named, { warnings }: GivenSettings): void {
  for (const line of warnings) process.stderr.write(`${name}: ${line}\n`);
}

/** Parses and checks the given settings. @param isUsed Problems of other settings are not reported. */
export function assembleOptions<Options>(
  program: Program<Options, unknown>,
  given: GivenSettings,
  isUsed: (name: string) => boolean = () => true,
) {
  const options: Record<string, unknown> = {};
  for (const entry of program.entries) {
    const text = given.values.get(entry.name)?.text;
    if (text !== undefined) setOption(options, entry, parseSetting(entry.setting, text));
  }
  const nameOf = ({ setting }: SettingProblem) => findEntry(program, setting).name;
  const found = problemsOf(() => program.resolve(options as Options));
  const problems = found.filter((one) => isUsed(nameOf(one)));
  return {
    options: options as Options,
    problems: [...given.problems, ...problems.map((one) => nameProblem(program, one, given))],
    wrong: new Set(problems.map(nameOf)),
  };
}

/** A problem with the settings named as the operator wrote them, or could, where they have defaults. */
function nameProblem(
  program: Named,
  { setting, problem, other }: SettingProblem,
  { values }: GivenSettings,
): SettingProblem {
  const nameOf = (id: string) => {
    const { name, setting } = findEntry(program, id);
    const form = setting.from === "variable" ? variableOf(program, name) : name;
    return values.get(name)?.written ?? (setting.from === undefined ? `--${name}` : form);
  };
  const text = other === undefined ? problem : problem.replace(other, () => nameOf(other));
  return { setting: nameOf(setting), problem: text };
}

function findEntry({ entries }: Named, id: string): SchemaEntry {
  const entry = entries.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new Error(`no setting is called ${id}`);
  return entry;
}

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
  const unit = setting.unit === undefined ? "" : `in ${setting.unit}; `;
  const extra = `${unit}default: ${formatValue(setting.default) || "none"}, env: ${variableOf(program, name)}`;
  const form = setting.isBareFlag ? `[${setting.placeholder}]` : `<${setting.placeholder}>`;
  const option = new Option(`--${name} ${form}`, `${describe(setting)} (${extra})`);
  // A list may also be given by repeating its flag.
  const join = (text: string, before?: string | boolean) =>
    typeof before === "string" ? `${before},${text}` : text;
  return setting.type === "list" ? option.argParser(join) : option;
}

function describe(setting: Setting): string {
  const text = setting.summary.replaceAll("`", "");
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}
