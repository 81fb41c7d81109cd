/** The URL of a store, as an operator writes it. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { problemsOf, SettingsError } from "connect-gateway-kit/settings";
import { describeStore, type StoreLocation } from "../store/open.ts";
import { besideName } from "../store/sqlite/files.ts";
import { parsePostgresUrl } from "./postgres-url.ts";

/** By URL scheme. They throw {@link SettingsError}. */
const engines: ReadonlyMap<string, (location: string) => StoreLocation> = new Map([
  ["sqlite", parseSqliteUrl],
  ["postgres", parsePostgresUrl],
  ["postgresql", parsePostgresUrl],
]);

/** @throws {SettingsError} without any part of the URL that may be a password. */
export function parseStoreUrl(url: string): StoreLocation {
  const scheme = url.slice(0, Math.max(url.indexOf(":"), 0)).toLowerCase();
  const parse = engines.get(scheme);
  if (parse !== undefined) return parse(url.slice(scheme.length + 1));
  const found = scheme === "" ? "the store URL has no scheme" : `no store is called "${scheme}"`;
  const forms = "sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE";
  throw new SettingsError([{ setting: "store", problem: `${found}; use ${forms}` }]);
}

/** The URL without secrets. @throws {SettingsError} */
export function describeStoreUrl(url: string): string {
  return describeStore(parseStoreUrl(url));
}

/** What is wrong with a URL, without any part that may be a password. */
export function findStoreProblem(url: string): string | undefined {
  const texts = problemsOf(() => parseStoreUrl(url)).map(({ setting, problem }) =>
    setting === "store" ? problem : `${setting}: ${problem}`,
  );
  return texts.length === 0 ? undefined : texts.join("; ");
}

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
  [(at) => Buffer.byteLength(resolve(at)) > 504, "SQLite opens no path of more than 504 bytes"],
];

function parseSqliteUrl(name: string): StoreLocation {
  const [, advice] = misuses.find(([isMisuse]) => isMisuse(name)) ?? [];
  if (advice === undefined) return { engine: "sqlite", path: resolve(name), name };
  const problem = `cannot use the store URL sqlite:${name}: ${advice}`;
  throw new SettingsError([{ setting: "store", problem }]);
}
