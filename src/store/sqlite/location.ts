import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { SettingsError } from "connect-gateway-kit/settings";
import { fileId } from "./files.ts";

/** The URL as given; it contains no secrets. */
export function describeSqlite(location: string): string {
  parsePath(location);
  return `sqlite:${location}`;
}

/** Equal for two paths to the same file. */
export function identifySqlite(location: string): string {
  const path = parsePath(location);
  return fileId(path) ?? path;
}

/** The names of what SQLite writes beside a database. */
export const besideName = /-(wal|shm|journal)$/i;

const misuses: readonly (readonly [isMisuse: (location: string) => boolean, advice: string])[] = [
  [(at) => at === "", "it names no file; write sqlite:./data/plants.db"],
  [
    (at) => at.startsWith("//"),
    "write sqlite:/absolute/path or sqlite:./relative/path, without //",
  ],
  [(at) => at === ":memory:", "a store in memory keeps nothing; name a file"],
  [(at) => at.startsWith("file:"), "write the path alone, without file:"],
  [(at) => /[?#]/.test(at), "it takes no settings, and the path may not contain ? or #"],
  [
    (at) => besideName.test(at) && existsSync(at.replace(besideName, "")),
    "it names a file that belongs to another store",
  ],
  [(at) => at.startsWith("~"), "~ has no meaning here; write the whole path"],
  [(at) => at.endsWith("/"), "it names a folder; name a file in it"],
  // A typo in a settings file, which would create a new store.
  [(at) => at !== at.trim(), "the path may not begin or end with white space"],
  [(at) => at.includes("\0"), "the path may not contain U+0000"],
];

/**
 * @param location A path, absolute or relative to the working directory.
 * @returns The absolute path.
 * @throws {SettingsError}
 */
export function parsePath(location: string): string {
  for (const [isMisuse, advice] of misuses) {
    if (isMisuse(location)) {
      const problem = `cannot use the store URL sqlite:${location}: ${advice}`;
      throw new SettingsError([{ setting: "store", problem }]);
    }
  }
  return resolve(location);
}
