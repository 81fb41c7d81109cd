import type { SchemaEntry } from "./schema.ts";

/** A program with settings, as flags, variables and a file give them. */
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

/** What the sources of settings need of a program. */
export type Named = Omit<Program<never, unknown>, "resolve">;

/** `base-path` -> `PLANT_STORE_BASE_PATH`. */
export function variableOf({ variablePrefix }: Named, name: string): string {
  return variablePrefix + name.replaceAll("-", "_").toUpperCase();
}

/** Where the value of a setting comes from; a later one in this list wins. */
export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "environment" }
  | { readonly kind: "flag" };

/** A value as it was written. */
export interface GivenValue {
  readonly text: string;
  readonly origin: Origin;
}

/** How the operator wrote a setting; how it could be written, where it has its default. */
export function nameSetting(program: Named, entry: SchemaEntry, origin: Origin): string {
  const { name, setting } = entry;
  switch (origin.kind) {
    case "file":
      return `${name} (${origin.file}, line ${origin.line})`;
    case "environment":
      return variableOf(program, name);
    case "flag":
    case "default":
      if (setting.from === undefined) return `--${name}`;
      return setting.from === "variable" ? variableOf(program, name) : name;
  }
}

/** Where a value comes from, for a table. */
export function describeOrigin(program: Named, entry: SchemaEntry, origin: Origin): string {
  if (origin.kind === "default") return "default";
  if (origin.kind === "file") return `file ${origin.file}, line ${origin.line}`;
  return `${origin.kind} ${nameSetting(program, entry, origin)}`;
}
