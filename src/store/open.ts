import type { PlantStore } from "../plant.ts";
import { StoreOpenError } from "./open-error.ts";
import type { StoreOptions } from "./options.ts";
import { openSqlite } from "./sqlite/open.ts";

/** Opens the store at `location`: what follows the scheme and its colon. */
type OpenEngine = (location: string, options: StoreOptions) => Promise<PlantStore>;

interface EngineEntry {
  /** How its URLs are written, for error messages. */
  readonly form: string;
  readonly open: OpenEngine;
}

/** By the scheme of their URLs. */
const engines: ReadonlyMap<string, EngineEntry> = new Map([
  ["sqlite", { form: "sqlite:PATH", open: openSqlite }],
]);

/**
 * Opens the store at a URL. `sqlite:PATH` is an SQLite database, the path
 * relative to the working directory or absolute; it is made if it is missing.
 *
 * @throws {StoreOpenError}
 * @throws {RangeError} For a limit that is not a positive integer.
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<PlantStore> {
  const scheme = url.slice(0, Math.max(url.indexOf(":"), 0)).toLowerCase();
  const engine = engines.get(scheme);
  if (engine === undefined) {
    // The rest of the URL is not repeated: it may hold a password.
    const found = scheme === "" ? "the store URL has no scheme" : `no store is called "${scheme}"`;
    const forms = [...engines.values()].map(({ form }) => form).join(", ");
    throw new StoreOpenError("invalid_url", `${found}; there is: ${forms}`);
  }
  return await engine.open(url.slice(scheme.length + 1), options);
}
