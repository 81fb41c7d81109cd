import type { SchemaEntry } from "../../server/settings/schema.ts";

/** Where the value of a setting comes from; a later one in this list wins. */
export type Origin =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "environment" }
  | { readonly kind: "flag" };

/** How the operator wrote a setting; how it could be written, where it has its default. */
export function nameSetting({ name, setting }: SchemaEntry, origin: Origin): string {
  switch (origin.kind) {
    case "file":
      return `${name} (${origin.file}, line ${origin.line})`;
    case "environment":
      return variableOf(name);
    case "flag":
    case "default":
      return setting.from === "variable" ? variableOf(name) : `--${name}`;
  }
}

/** Where a value comes from, for a table. */
export function describeOrigin(entry: SchemaEntry, origin: Origin): string {
  switch (origin.kind) {
    case "default":
      return "default";
    case "file":
      return `file ${origin.file}, line ${origin.line}`;
    case "environment":
    case "flag":
      return `${origin.kind} ${nameSetting(entry, origin)}`;
  }
}

export const variablePrefix = "PLANT_STORE_";

/** `base-path` -> `PLANT_STORE_BASE_PATH`. */
export function variableOf(name: string): string {
  return variablePrefix + name.replaceAll("-", "_").toUpperCase();
}
