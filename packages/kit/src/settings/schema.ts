import { timerMaxMs } from "connect-gateway/limits";

/** All settings of a program, in the order of its help. Some are in groups. */
type SettingTree = Readonly<Record<string, Setting | Group>>;

export type Group = Readonly<Record<string, Setting>>;

type ValueIn<T> = T extends Setting ? T["default"] : T extends Group ? SettingsOf<T> : never;

export type SettingsOf<T extends SettingTree> = { readonly [K in keyof T]: ValueIn<T[K]> };

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

export interface Program<Options, Settings> {
  /** `plant-store`: its messages begin so. */
  readonly name: string;
  /** `PLANT_STORE_`: its variables begin so. */
  readonly variablePrefix: string;
  /** Variables with its prefix that are no settings, such as those of its clients. */
  readonly otherVariables: readonly string[];
  readonly entries: readonly SchemaEntry[];
  /** A given option overrides its default, also by `undefined`. @throws {SettingsError} with all. */
  readonly resolve: (options: Options) => Settings;
}

/** The part of a program that the sources of settings need. */
export type Named = Omit<Program<never, unknown>, "resolve">;

interface ProgramParts<T extends SettingTree, Settings> extends Omit<Named, "entries"> {
  readonly schema: T;
  /** @returns problems of settings that are valid by themselves. */
  readonly findContradictions: (values: SettingsOf<T>) => readonly SettingProblem[];
  readonly finish: (values: SettingsOf<T>) => Settings;
}

export function createProgram<T extends SettingTree, Settings>(
  parts: ProgramParts<T, Settings>,
): Program<OptionsOf<T>, Settings> {
  const { schema, findContradictions, finish, ...named } = parts;
  const entries = Object.entries(schema).flatMap(([key, node]) =>
    typeof node["type"] === "string"
      ? [createEntry(node as Setting, key)]
      : Object.entries(node as Group).map(([option, setting]) => createEntry(setting, option, key)),
  );

  function resolve(options: OptionsOf<T>): Settings {
    const filled: OptionTree = {};
    const problems: SettingProblem[] = [];
    for (const entry of entries) {
      const { setting, id, option } = entry;
      const given = placeOf(options, entry);
      const value = Object.hasOwn(given, option) ? given[option] : setting.default;
      setOption(filled, entry, value);
      const problem = findProblem(setting, value);
      if (problem !== undefined) problems.push({ setting: id, problem });
    }
    const values = filled as SettingsOf<T>;
    // A problem of one setting is reported once.
    const wrong = new Set(problems.map(({ setting }) => setting));
    const isNew = ({ setting, other = "" }: SettingProblem) =>
      !wrong.has(setting) && !wrong.has(other);
    const all = [...problems, ...findContradictions(values).filter(isNew)];
    if (all.length > 0) throw new SettingsError(all);
    return finish(values);
  }

  return { ...named, entries, resolve };
}

function createEntry(setting: Setting, option: string, group?: string): SchemaEntry {
  const name = setting.name ?? option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const id = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return { setting, name, id, option, group };
}

type OptionTree = Record<string, unknown>;

function placeOf(options: object, { group }: SchemaEntry): OptionTree {
  const tree = options as OptionTree;
  return group === undefined ? tree : ((tree[group] ?? {}) as OptionTree);
}

export function setOption(options: OptionTree, entry: SchemaEntry, value: unknown): void {
  const { group, option } = entry;
  if (group === undefined) options[option] = value;
  else options[group] = { ...placeOf(options, entry), [option]: value };
}

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
export interface Setting<T = unknown> {
  readonly type: "text" | "integer" | "switch" | "list";
  /** One line for operators, in Markdown with no markup but `code`. */
  readonly summary: string;
  /** `undefined`: none, so the option may be left out. */
  readonly default: T;
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
  /** Whether the flag may stand without a value, which is `on` then. */
  readonly isBareFlag?: boolean;
  /** The limits and the unit of an integer. */
  readonly min?: number;
  readonly max?: number;
  readonly unit?: "bytes" | "ms";
  /** @returns the problem of a text or a list. */
  check?(value: NoInfer<NonNullable<T>>): string | undefined;
}

type More<T> = Partial<Omit<Setting<T>, "type" | "summary">>;

/** White space at an end, as of a mounted file, would be part of a name. @param more May have another check. */
export function text<D extends string | undefined = undefined>(summary: string, more?: More<D>) {
  const check = matching(/^\S(.*\S)?$/s, "is empty, or has white space at an end");
  const setting = { type: "text", summary, default: undefined, placeholder: "text", check };
  return { ...setting, ...more } as Setting<string | D>;
}

export function file(summary: string, more?: More<undefined>) {
  return text(summary, { placeholder: "file", ...more });
}

export function choice<const W extends string, D extends W | undefined>(
  summary: string,
  words: readonly W[],
  more: More<D> & { readonly default: D },
): Setting<NoInfer<W | D>> {
  const rule = `must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  const check = (value: string) => (words.some((word) => word === value) ? undefined : rule);
  return text(summary, { placeholder: words.join("|"), check, ...more }) as Setting<W | D>;
}

/** A list, written with commas. Its elements have none. */
export function list(summary: string, more?: More<readonly string[]>): Setting<readonly string[]> {
  const check = (all: readonly string[]) =>
    all.includes("") ? "has an empty item" : more?.check?.(all);
  return { type: "list", summary, default: [], placeholder: "list", ...more, check };
}

function toggle(isOn: boolean, summary: string, more?: More<boolean>): Setting<boolean> {
  const form = { placeholder: "on|off", isBareFlag: true };
  return { type: "switch", summary, default: isOn, ...form, ...more };
}

export const on = toggle.bind(undefined, true);
export const off = toggle.bind(undefined, false);

export function number<D extends number | undefined = number>(summary: string, more?: More<D>) {
  const form = { placeholder: "number", default: 0, min: 1, max: timerMaxMs };
  return { type: "integer", summary, ...form, ...more } as Setting<number | D>;
}

export const bytes = (summary: string, more?: More<number>) =>
  number(summary, { unit: "bytes", ...more });
export const milliseconds = (summary: string, more?: More<number>) =>
  number(summary, { unit: "ms", ...more });

/** A check of a whole text. @param rule The same in words. */
export function matching(form: RegExp, rule: string) {
  return (value: string) => (form.test(value) ? undefined : rule);
}

/** Parses a setting's text to its type. Invalid text stays text, which `findProblem` rejects. */
export function parseSetting({ type }: Setting, text: string): unknown {
  switch (type) {
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
export function formatValue(value: unknown): string {
  return typeof value === "boolean" ? (value ? "on" : "off") : `${value ?? ""}`;
}

export function findProblem(setting: Setting, value: unknown): string | undefined {
  const { type, min = 0, max = timerMaxMs, secret } = setting;
  if (value === undefined && setting.default === undefined) return undefined;
  if (type === "switch") return typeof value === "boolean" ? undefined : "must be on or off";
  if (type !== "integer") return value === undefined ? undefined : setting.check?.(value ?? "");
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
  readonly lines: readonly string[];

  constructor(problems: readonly SettingProblem[], options?: { cause: unknown }) {
    const lines = problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    super(lines.join("; "), options);
    this.problems = problems;
    this.lines = lines;
  }
}

export function problemsOf(work: () => unknown): readonly SettingProblem[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
