/** All settings of a program, in the order of its help. Some are in groups. */
type SettingTree = Readonly<Record<string, Setting | Group>>;

type ValueIn<T> = T extends Setting ? ValueOf<T> : T extends Group ? ValuesOf<T> : never;

export type SettingsOf<T extends SettingTree> = { readonly [K in keyof T]: ValueIn<T[K]> };

/** Options of a caller: all are optional. */
export type OptionsOf<T extends SettingTree> = {
  readonly [K in keyof T]?: T[K] extends Setting
    ? ValueIn<T[K]>
    : Partial<ValueIn<T[K]>> | undefined;
};

export interface SchemaEntry {
  readonly setting: Setting;
  /** As operators write it, in flags and files: `tls-cert`. */
  readonly name: string;
  /** As errors name it: `tlsCert`. */
  readonly id: string;
  /** Its place in the options: `certFile` in the group `tls`. */
  readonly option: string;
  readonly group: string | undefined;
}

/** @param findContradictions Returns problems of settings that are valid by themselves. */
export function createSchema<T extends SettingTree>(
  tree: T,
  findContradictions: (settings: SettingsOf<T>) => readonly SettingProblem[],
) {
  const entries = Object.entries(tree).flatMap(([key, node]) =>
    isSetting(node)
      ? [createEntry(node, key)]
      : Object.entries(node).map(([option, setting]) => createEntry(setting, option, key)),
  );
  return {
    entries,
    /**
     * A given option overrides its default, also by `undefined`. @throws {SettingsError} with all.
     */
    resolve(options: OptionsOf<T>): SettingsOf<T> {
      const filled: OptionTree = {};
      const problems: SettingProblem[] = [];
      for (const entry of entries) {
        const { setting, id, option } = entry;
        const given = placeOf(options, entry);
        const value = Object.hasOwn(given, option) ? given[option] : setting.default;
        setOption(filled, entry, value);
        const problem = findProblem(setting, value as SettingValue);
        if (problem !== undefined) problems.push({ setting: id, problem });
      }
      const settings = filled as SettingsOf<T>;
      // A problem of one setting is reported once.
      const wrong = new Set(problems.map(({ setting }) => setting));
      const isNew = ({ setting, other = "" }: SettingProblem) =>
        !wrong.has(setting) && !wrong.has(other);
      const all = [...problems, ...findContradictions(settings).filter(isNew)];
      if (all.length > 0) throw new SettingsError(all);
      return settings;
    },
  };
}

function isSetting(node: SettingTree[string]): node is Setting {
  return typeof node["type"] === "string";
}

function createEntry(setting: Setting, option: string, group?: string): SchemaEntry {
  const name = setting.name ?? option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const id = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return { setting, name, id, option, group };
}

type OptionTree = Record<string, unknown>;

/** The object with the option of an entry. */
function placeOf(options: object, { group }: SchemaEntry): OptionTree {
  const tree = options as OptionTree;
  return group === undefined ? tree : ((tree[group] ?? {}) as OptionTree);
}

/** Sets the option of an entry, and creates its group. */
export function setOption(options: OptionTree, entry: SchemaEntry, value: unknown): void {
  const { group, option } = entry;
  if (group === undefined) options[option] = value;
  else options[group] = { ...placeOf(options, entry), [option]: value };
}

export interface Program<Options, Settings> {
  /** `plant-store`: its messages begin so. */
  readonly name: string;
  /** `PLANT_STORE_`: its variables begin so. */
  readonly variablePrefix: string;
  readonly entries: readonly SchemaEntry[];
  /** @throws {SettingsError} with every problem. */
  readonly resolve: (options: Options) => Settings;
  /** Variables with its prefix that are no settings, such as those of its clients. */
  readonly otherVariables: readonly string[];
}

/** The part of a program that the sources of settings need. */
export type Named = Omit<Program<never, unknown>, "resolve">;

/** `base-path` -> `PLANT_STORE_BASE_PATH`. */
export function variableOf({ variablePrefix }: Named, name: string): string {
  return variablePrefix + name.replaceAll("-", "_").toUpperCase();
}

export interface GivenValue {
  readonly text: string;
  /** The setting as the operator wrote it: `--port`, or `port (FILE, line 3)`. */
  readonly written: string;
  readonly origin: string;
}

/** A setting, with everything for flags, help, checks and documentation. */
export type Setting = TextSetting | IntegerSetting | SwitchSetting | ListSetting;

interface Described {
  /** One line for operators, in Markdown with no markup but `code`. */
  readonly summary: string;
  readonly placeholder: string;
  /** Its name for operators, if that is not the option's identifier in kebab-case. */
  readonly name?: string;
  /**
   * Where it can be set, if not by a flag. `variable`: by its variable or in the file, because
   * other users can read command lines. `file`: the same, because few need it. `url`: in the URL of
   * another setting.
   */
  readonly from?: "variable" | "file" | "url";
  /** `whole`: the value is never shown. `password`: a URL, shown without its password. */
  readonly secret?: "whole" | "password";
}

interface TextSetting extends Described {
  readonly type: "text";
  /** `undefined`: none, so the option may be left out. */
  readonly default: string | undefined;
  /** A pattern for the whole value, and the same rule in words. */
  readonly pattern?: { readonly form: RegExp; readonly rule: string };
  /** @returns the problem of a value, if a pattern cannot check it. */
  readonly check?: (value: string) => string | undefined;
}

export interface IntegerSetting extends Described {
  readonly type: "integer";
  /** `undefined`: none, so the option may be left out. */
  readonly default: number | undefined;
  readonly min: number;
  readonly max: number;
  readonly unit?: "bytes" | "ms";
}

interface SwitchSetting extends Omit<Described, "placeholder"> {
  readonly type: "switch";
  readonly default: boolean;
}

/** A list, written with commas. Its elements have none. */
interface ListSetting extends Described {
  readonly type: "list";
  readonly default: readonly string[];
  /** Whether the flag may stand without a value, which is `on` then. */
  readonly isBareFlag?: boolean;
  readonly check?: (values: readonly string[]) => string | undefined;
}

export type ValueOf<S extends Setting> =
  | (S extends IntegerSetting
      ? number
      : S extends SwitchSetting
        ? boolean
        : S extends ListSetting
          ? readonly string[]
          : string)
  | (S["default"] extends string | number | boolean | readonly string[] ? never : undefined);

export type Group = Readonly<Record<string, Setting>>;

export type ValuesOf<G extends Group> = { readonly [Option in keyof G]: ValueOf<G[Option]> };

export type SettingValue = ValueOf<Setting>;

/** Parses a setting's text to its type. Invalid text stays text, which `findProblem` rejects. */
export function parseSetting(setting: Setting, text: string): SettingValue {
  switch (setting.type) {
    case "text":
      return text;
    case "integer":
      return /^\d{1,10}$/.test(text) ? Number(text) : text;
    case "switch":
      return text === "on" || (text === "off" ? false : text);
    case "list":
      return text.trim() === "" ? [] : text.split(",").map((item) => item.trim());
  }
}

/** A value as an operator would write it; empty for none. */
export function formatValue(value: SettingValue): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  return value === undefined ? "" : value.toString();
}

/** @returns the problem of the value by itself. */
export function findProblem(setting: Setting, value: SettingValue): string | undefined {
  if (value === undefined && setting.default === undefined) return undefined;
  switch (setting.type) {
    case "text": {
      const { pattern, check } = setting;
      if (value === undefined) return undefined;
      return pattern?.form.test(String(value)) === false ? pattern.rule : check?.(String(value));
    }
    case "integer":
      return findIntegerProblem(setting, value);
    case "switch":
      return typeof value === "boolean" ? undefined : "must be on or off";
    case "list":
      return Array.isArray(value) ? setting.check?.(value) : undefined;
  }
}

function findIntegerProblem({ min, max, secret }: IntegerSetting, value: SettingValue) {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return undefined;
  const shown = secret === undefined ? `: ${String(value)}` : "";
  return `must be a whole number from ${min} to ${max}${shown}`;
}

export interface SettingProblem {
  /** The option's identifier in the schema, for example `bodyBytesMax`; to operators, as they wrote it. */
  readonly setting: string;
  /** One line, without the value of a secret. */
  readonly problem: string;
  /** Another option named in the text, for callers that translate names to flags or variables. */
  readonly other?: string;
}

/** Settings are invalid or contradict each other. Thrown at startup only, never for a request. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly SettingProblem[];
  /** The same in words, a line each. */
  readonly lines: readonly string[];

  constructor(problems: readonly SettingProblem[], options?: { cause: unknown }) {
    const lines = problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    super(lines.join("; "), options);
    this.problems = problems;
    this.lines = lines;
  }
}

/** Problems of settings that are found at startup. */
export function problemsOf(work: () => unknown): readonly SettingProblem[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
