import type { ConfigFile } from "./config-file.ts";
import { takeEnvironment } from "./environment.ts";
import { type Named, nameSetting, type Origin, type Program } from "./program.ts";
import { type SchemaEntry, setOption } from "./schema.ts";
import { parseSetting } from "./setting.ts";
import { type SettingProblem, SettingsError } from "./settings-error.ts";

/** What an operator gave: flags over the environment over a file. */
export interface GivenSettings {
  /** Those that were given, by their names. */
  readonly values: ReadonlyMap<string, GivenValue>;
  /** The file that was read. */
  readonly file: string | undefined;
  /** What is wrong with the sources, whatever the values are. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export interface GivenValue {
  /** As it was written. */
  readonly text: string;
  readonly origin: Origin;
}

/** Flags as commander has them: by their names in camel case, those of the command among them. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>;

export async function readGiven(program: Named, flags: Flags): Promise<GivenSettings> {
  const environment = takeEnvironment(program, process.env);
  const file = textOf(flags["config"]) ?? environment.values.get("config");
  const fromFile = await readFileOf(program, file);
  const values = new Map<string, GivenValue>();
  for (const { name, id } of program.entries) {
    const flag = textOf(flags[id]);
    const variable = environment.values.get(name);
    const inFile = fromFile.values.get(name);
    if (flag !== undefined) {
      values.set(name, { text: flag, origin: { kind: "flag" } });
    } else if (variable !== undefined) {
      values.set(name, { text: variable, origin: { kind: "environment" } });
    } else if (inFile !== undefined) {
      const origin: Origin = { kind: "file", file: file ?? "", line: inFile.line };
      values.set(name, { text: inFile.text, origin });
    }
  }
  const problems = [...environment.problems, ...fromFile.problems];
  return { values, file, problems, warnings: environment.warnings };
}

/** YAML is loaded where there is some alone, for the sake of the start. */
async function readFileOf({ entries }: Named, file: string | undefined): Promise<ConfigFile> {
  if (file === undefined) return { values: new Map(), problems: [] };
  const { readConfigFile } = await import("./config-file.ts");
  return readConfigFile(
    file,
    entries.map(({ name }) => name),
  );
}

/** A switch without a value is on. */
function textOf(flag: Flags[string]): string | undefined {
  return flag === true ? "on" : flag || (flag === "" ? "" : undefined);
}

export interface AssembledOptions<Options> {
  readonly options: Options;
  /** All that is wrong, one line each, in the operator's words. */
  readonly problems: readonly string[];
  /** The names of the settings at fault. */
  readonly wrong: ReadonlySet<string>;
}

/**
 * Parses and checks what was given. Values that cannot be parsed are left out of the options.
 *
 * @param isUsed Of other settings, problems are not told.
 */
export function assembleOptions<Options>(
  program: Program<Options, unknown>,
  given: GivenSettings,
  isUsed: (name: string) => boolean = () => true,
): AssembledOptions<Options> {
  const tree: Record<string, unknown> = {};
  const unreadable: SettingProblem[] = [];
  for (const { setting, name, id, path } of program.entries) {
    const text = given.values.get(name)?.text;
    if (text === undefined) continue;
    const parsed = parseSetting(setting, text);
    if (parsed.kind === "value") setOption(tree, path, parsed.value);
    else unreadable.push({ setting: id, problem: parsed.problem });
  }
  const options = tree as Options;
  const problems = [...unreadable, ...findProblems(() => program.resolve(options))].filter(
    ({ setting }) => isUsed(findEntry(program, setting).name),
  );
  return {
    options,
    problems: [...given.problems, ...problems.map((one) => nameProblem(program, one, given))],
    wrong: new Set(problems.map(({ setting }) => findEntry(program, setting).name)),
  };
}

function findProblems(resolve: () => unknown): readonly SettingProblem[] {
  try {
    resolve();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

/** A problem in one line, with the settings named as the operator wrote them. */
export function nameProblem(
  program: Named,
  { setting, problem, other }: SettingProblem,
  { values }: GivenSettings,
): string {
  const nameOf = (id: string) => {
    const entry = findEntry(program, id);
    return nameSetting(program, entry, values.get(entry.name)?.origin ?? { kind: "default" });
  };
  const text = other === undefined ? problem : problem.replace(other, () => nameOf(other));
  return `${nameOf(setting)}: ${text}`;
}

function findEntry({ entries }: Named, id: string): SchemaEntry {
  const entry = entries.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new Error(`no setting is called ${id}`);
  return entry;
}
