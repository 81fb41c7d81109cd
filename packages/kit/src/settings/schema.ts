import {
  findProblem,
  type Group,
  type Setting,
  type SettingProblem,
  SettingsError,
  type SettingValue,
  type ValueOf,
  type ValuesOf,
} from "./setting.ts";

/** All settings of a program, in the order of its help. Some are in groups. */
type SettingTree = Readonly<Record<string, Setting | Group>>;

type ValueIn<T> = T extends Setting ? ValueOf<T> : T extends Group ? ValuesOf<T> : never;

/** All settings, checked, with defaults. */
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
     * Checks the options and fills in the defaults. A given option overrides its default, also if it is
     * `undefined`.
     *
     * @throws {SettingsError} with every problem.
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

/** A value as it was given. */
export interface GivenValue {
  readonly text: string;
  /** The setting as the operator wrote it: `--port`, or `port (FILE, line 3)`. */
  readonly written: string;
  /** Where, for a table. */
  readonly origin: string;
}
