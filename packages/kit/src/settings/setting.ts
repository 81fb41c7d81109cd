/** A setting, with everything for flags, help, checks and documentation. */
export type Setting = TextSetting | IntegerSetting | SwitchSetting | ListSetting;

interface Described {
  /** One line for operators, in Markdown with no markup but `code`. */
  readonly summary: string;
  /** The placeholder of the value in the help. */
  readonly placeholder: string;
  /** Its name for operators, if that is not the option's identifier in kebab-case. */
  readonly name?: string;
  /**
   * Where it can be set, if not by a flag. `variable`: by its variable or in the file, because other users
   * of the machine can read command lines. `file`: the same, because few need it. `url`: in the URL that another
   * setting is, by nothing else.
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

/** Written `on` or `off`. */
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
  /** @returns the problem of the list. */
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
  /** At least one. */
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
