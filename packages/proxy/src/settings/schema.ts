import {
  findProblem,
  type Setting,
  type SettingValue,
  type ValueOf,
  type ValuesOf,
} from "./setting.ts";
import { type SettingProblem, SettingsError } from "./settings-error.ts";

/** All settings of a program, in the order of its help. Some are in groups. */
export type SettingTree = Readonly<Record<string, Setting | Readonly<Record<string, Setting>>>>;

/** All settings, checked, with defaults. */
export type SettingsOf<T extends SettingTree> = {
  readonly [K in keyof T]: T[K] extends Setting
    ? ValueOf<T[K]>
    : T[K] extends Readonly<Record<string, Setting>>
      ? ValuesOf<T[K]>
      : never;
};

/** Options of a caller: all are optional. */
export type OptionsOf<T extends SettingTree> = {
  readonly [K in keyof T]?: T[K] extends Setting
    ? ValueOf<T[K]>
    : T[K] extends Readonly<Record<string, Setting>>
      ? Partial<ValuesOf<T[K]>> | undefined
      : never;
};

/** A setting with its names. */
export interface SchemaEntry {
  readonly setting: Setting;
  /** As operators write it, in flags and files: `tls-cert`. */
  readonly name: string;
  /** As errors name it: `tlsCert`. */
  readonly id: string;
  /** Its place in the options: `["tls", "certFile"]`. */
  readonly path: readonly [string] | readonly [group: string, option: string];
}

export interface Schema<T extends SettingTree> {
  readonly entries: readonly SchemaEntry[];
  /**
   * Checks the options and fills in the defaults. A given option overrides its default, also if it
   * is `undefined`.
   *
   * @throws {SettingsError} with every problem.
   */
  resolve(options: OptionsOf<T>): SettingsOf<T>;
}

/** @param findContradictions What is wrong with settings that are right by themselves. */
export function createSchema<T extends SettingTree>(
  tree: T,
  findContradictions: (settings: SettingsOf<T>) => readonly SettingProblem[],
): Schema<T> {
  const entries = createEntries(tree);
  return {
    entries,
    resolve(options) {
      const filled: OptionTree = {};
      for (const { path, setting } of entries) {
        const isGiven = hasOption(options, path);
        setOption(filled, path, isGiven ? getOption(options, path) : setting.default);
      }
      const problems = entries.flatMap(({ setting, id, path }) => {
        const problem = findProblem(setting, getOption(filled, path) as SettingValue);
        return problem === undefined ? [] : [{ setting: id, problem }];
      });
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

function createEntries(tree: SettingTree): readonly SchemaEntry[] {
  return Object.entries(tree).flatMap(([key, node]) =>
    isSetting(node)
      ? [createEntry([key], node)]
      : Object.entries(node).map(([option, setting]) => createEntry([key, option], setting)),
  );
}

function isSetting(node: SettingTree[string]): node is Setting {
  return typeof node["type"] === "string";
}

function createEntry(path: SchemaEntry["path"], setting: Setting): SchemaEntry {
  const option = String(path.at(-1));
  const name = setting.name ?? option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const id = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return { setting, name, id, path };
}

type OptionTree = Record<string, unknown>;

function hasOption(options: object, [key, option]: SchemaEntry["path"]): boolean {
  const node = (options as OptionTree)[key];
  return option === undefined ? Object.hasOwn(options, key) : Object.hasOwn(node ?? {}, option);
}

function getOption(options: object, [key, option]: SchemaEntry["path"]): unknown {
  const node = (options as OptionTree)[key];
  return option === undefined ? node : (node as OptionTree | undefined)?.[option];
}

/** Sets the option at the path of a schema entry, and creates its group. */
export function setOption(
  options: OptionTree,
  [key, option]: SchemaEntry["path"],
  value: unknown,
): void {
  if (option === undefined) options[key] = value;
  else options[key] = { ...(options[key] as OptionTree | undefined), [option]: value };
}
