import type { PlantStore } from "../plant.ts";
import type { Finding } from "./finding.ts";
import { StoreOpenError } from "./open-error.ts";
import type { StoreOptions } from "./options.ts";
import type { PlantReader } from "./plant-reader.ts";
import { describePostgres } from "./postgres/address.ts";
import type { SchemaState } from "./schema-state.ts";
import type { SharedStore } from "./shared-store.ts";
import type { BackupOptions } from "./sqlite/backup.ts";
import { describeSqlite, identifySqlite } from "./sqlite/location.ts";
import { joinSqlite, migrateSqlite, openSharedSqlite, openSqlite } from "./sqlite/open.ts";

/** Opens the store at `location`: what follows the scheme and its colon. */
type OpenEngine = (location: string, options: StoreOptions) => Promise<PlantStore>;

interface EngineEntry {
  /** How its URLs are written, for error messages. */
  readonly form: string;
  readonly open: OpenEngine;
  readonly openReader: (location: string) => Promise<PlantReader>;
  readonly readSchema: (location: string) => Promise<SchemaState>;
  readonly migrate: (location: string) => Promise<void>;
  readonly backUp: (location: string, options: BackupOptions) => Promise<number>;
  readonly check: (location: string) => AsyncIterable<Finding>;
  /** The URL of a store that was opened, for people: without secrets. */
  readonly describe: (location: string) => string;
  /** The same for two locations that are known to be one store. */
  readonly identify: (location: string) => string;
  /** Where the threads of a process share a store; without, each opens one of its own. */
  readonly openShared?: (location: string, options: StoreOptions) => Promise<SharedStore>;
}

// What an engine is made of is loaded when it is used, for the sake of the start. The thread of
// SQLite is begun without a wait, so that it starts while its caller loads other code.

const sqlite: EngineEntry = {
  form: "sqlite:PATH",
  describe: describeSqlite,
  identify: identifySqlite,
  open: openSqlite,
  migrate: migrateSqlite,
  openReader: async (at) => (await import("./sqlite/tools.ts")).openSqliteReader(at),
  readSchema: async (at) => (await import("./sqlite/tools.ts")).readSqliteSchema(at),
  backUp: async (at, options) => (await import("./sqlite/tools.ts")).backupSqlite(at, options),
  async *check(at) {
    yield* (await import("./sqlite/tools.ts")).checkSqlite(at);
  },
  // It has one writer, on a thread of its own.
  openShared: openSharedSqlite,
};

const postgres: EngineEntry = {
  form: "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
  describe: describePostgres,
  identify: describePostgres,
  open: async (at, options) => (await import("./postgres/open.ts")).openPostgres(at, options),
  migrate: async (at) => (await import("./postgres/open.ts")).migratePostgres(at),
  openReader: async (at) => (await import("./postgres/open.ts")).openPostgresReader(at),
  readSchema: async (at) => (await import("./postgres/open.ts")).readPostgresSchema(at),
  async backUp() {
    throw new StoreOpenError(
      "invalid_url",
      "a PostgreSQL database is backed up by its own means: pg_dump, or a base backup and its log",
    );
  },
  async *check(at) {
    yield* (await import("./postgres/open.ts")).checkPostgres(at);
  },
};

/** By the scheme of their URLs. */
const engines: ReadonlyMap<string, EngineEntry> = new Map([
  ["sqlite", sqlite],
  ["postgres", postgres],
  ["postgresql", postgres],
]);

/**
 * Opens the store at a URL. `sqlite:PATH` is an SQLite database, the path
 * relative to the working directory or absolute; it is made if it is missing.
 * `postgres://…` is a PostgreSQL database, which must exist; its tables are made.
 *
 * @throws {StoreOpenError}
 * @throws {RangeError} For a limit that is not a positive integer.
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<PlantStore> {
  const { engine, location } = findEngine(url);
  return await engine.open(location, options);
}

/**
 * Opens a store that the threads of this process share.
 *
 * @returns undefined where each thread opens the store for itself.
 * @throws {StoreOpenError}
 */
export async function openSharedStore(
  url: string,
  options: StoreOptions = {},
): Promise<SharedStore | undefined> {
  const { engine, location } = findEngine(url);
  return await engine.openShared?.(location, options);
}

/** In another thread: uses the store of an end that `openSharedStore` gave. */
export const joinStore = joinSqlite;

/**
 * Opens the plants of a store for reading: those that it holds now. A store that
 * is missing or of another release is not made or migrated.
 *
 * @throws {StoreOpenError}
 */
export async function openPlantReader(url: string): Promise<PlantReader> {
  const { engine, location } = findEngine(url);
  return await engine.openReader(location);
}

/**
 * Whether two URLs are known to name one store.
 *
 * @throws {StoreOpenError} For a URL that no store could be opened at.
 */
export function isSameStore(url: string, other: string): boolean {
  const one = findEngine(url);
  const two = findEngine(other);
  return (
    one.engine === two.engine &&
    one.engine.identify(one.location) === two.engine.identify(two.location)
  );
}

/**
 * Reads how far the schema of a database is, and changes nothing.
 *
 * @throws {StoreOpenError}
 */
export async function readSchemaState(url: string): Promise<SchemaState> {
  const { engine, location } = findEngine(url);
  return await engine.readSchema(location);
}

/**
 * Brings the schema of a database up to date, as opening the store does.
 *
 * @throws {StoreOpenError}
 */
export async function migrateStore(url: string): Promise<void> {
  const { engine, location } = findEngine(url);
  await engine.migrate(location);
}

/**
 * Copies a store into one file, as it is now.
 *
 * @returns How many plants are in it.
 * @throws {StoreOpenError} `invalid_url` for a store that has means of its own.
 * @throws {BackupError}
 */
export async function backUpStore(url: string, options: BackupOptions): Promise<number> {
  const { engine, location } = findEngine(url);
  return await engine.backUp(location, options);
}

/**
 * Looks at a store and changes no plant: each finding comes once it is known.
 *
 * @throws {StoreOpenError} `invalid_url`; everything else is a finding.
 */
export function checkStore(url: string): AsyncIterable<Finding> {
  const { engine, location } = findEngine(url);
  return engine.check(location);
}

/** @throws {StoreOpenError} For a URL that no store could have been opened at. */
export function describeStoreUrl(url: string): string {
  const { engine, location } = findEngine(url);
  return engine.describe(location);
}

function findEngine(url: string): { engine: EngineEntry; location: string } {
  const scheme = url.slice(0, Math.max(url.indexOf(":"), 0)).toLowerCase();
  const engine = engines.get(scheme);
  if (engine === undefined) {
    // The rest of the URL is not repeated: it may hold a password.
    const found = scheme === "" ? "the store URL has no scheme" : `no store is called "${scheme}"`;
    const forms = [...new Set(engines.values())].map(({ form }) => form).join(", ");
    throw new StoreOpenError("invalid_url", `${found}; there is: ${forms}`);
  }
  return { engine, location: url.slice(scheme.length + 1) };
}
