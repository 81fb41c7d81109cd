import { problemsOf, SettingsError } from "connect-gateway-kit/settings";
import type { PlantStore } from "../plant.ts";
import type { Finding } from "./finding.ts";
import type { StoreOptions } from "./options.ts";
import type { PlantReader } from "./plant-reader.ts";
import { describePostgres } from "./postgres/address.ts";
import type { SchemaState } from "./schema-state.ts";
import type { BackupOptions } from "./sqlite/backup.ts";
import { busyTimeoutMs } from "./sqlite/files.ts";
import { describeSqlite, identifySqlite, parsePath } from "./sqlite/location.ts";
import { openSqlite } from "./sqlite/open.ts";

/** Opens the store at `location`, which is the part of the URL after the scheme and its colon. */
type OpenEngine = (location: string, options: StoreOptions) => Promise<PlantStore>;

interface EngineEntry {
  /** The form of its URLs, for error messages. */
  readonly form: string;
  readonly open: OpenEngine;
  readonly openReader: (location: string) => Promise<PlantReader>;
  readonly readSchema: (location: string) => Promise<SchemaState>;
  readonly migrate: (location: string) => Promise<void>;
  readonly backUp: (location: string, options: BackupOptions) => Promise<number>;
  readonly check: (location: string) => AsyncIterable<Finding>;
  /** The URL of an opened store without secrets, for messages and logs. */
  readonly describe: (location: string) => string;
  /** Returns equal strings for two locations that are known to be the same store, of any engine. */
  readonly identify: (location: string) => string;
}

// Engines are loaded on first use, for a fast startup. The SQLite thread is started without waiting
// for it, so that it starts while the caller loads other code.

const sqlite: EngineEntry = {
  form: "sqlite:PATH",
  describe: describeSqlite,
  identify: identifySqlite,
  open: openSqlite,
  async migrate(at) {
    (await import("./sqlite/database.ts")).openDatabase(parsePath(at), busyTimeoutMs).close();
  },
  openReader: async (at) => (await import("./sqlite/reader.ts")).SqliteReader.open(parsePath(at)),
  readSchema: async (at) => (await import("./sqlite/database.ts")).readSchemaState(parsePath(at)),
  async backUp(at, options) {
    return await (await import("./sqlite/backup.ts")).backupDatabase(parsePath(at), options);
  },
  async *check(at) {
    yield* (await import("./sqlite/check.ts")).checkDatabase(parsePath(at));
  },
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
    const problem =
      "a PostgreSQL database is backed up by its own means: pg_dump, or a base backup and its log";
    throw new SettingsError([{ setting: "store", problem }]);
  },
  async *check(at) {
    yield* (await import("./postgres/open.ts")).checkPostgres(at);
  },
};

/** By URL scheme. */
const engines: ReadonlyMap<string, EngineEntry> = new Map([
  ["sqlite", sqlite],
  ["postgres", postgres],
  ["postgresql", postgres],
]);

/**
 * Opens the store at a URL. `sqlite:PATH` is an SQLite database, with an absolute path or one
 * relative to the working directory. It is created if it is missing. `postgres://…` is a PostgreSQL
 * database. It must exist; its tables are created.
 *
 * @throws {StoreOpenError}
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<PlantStore> {
  const { engine, location } = findEngine(url);
  return await engine.open(location, options);
}

/**
 * Opens the plants that a store holds now for reading. Does not create a missing store or migrate
 * one of another release.
 *
 * @throws {StoreOpenError}
 */
export async function openPlantReader(url: string): Promise<PlantReader> {
  const { engine, location } = findEngine(url);
  return await engine.openReader(location);
}

/**
 * Whether two URLs are known to name the same store.
 *
 * @throws {SettingsError} If a URL cannot name a store.
 */
export function isSameStore(url: string, other: string): boolean {
  const one = findEngine(url);
  const two = findEngine(other);
  return one.engine.identify(one.location) === two.engine.identify(two.location);
}

/**
 * Reads the schema version of a database. Changes nothing.
 *
 * @throws {StoreOpenError}
 */
export async function readSchemaState(url: string): Promise<SchemaState> {
  const { engine, location } = findEngine(url);
  return await engine.readSchema(location);
}

/**
 * Migrates the schema of a database to the latest version, as opening the store does.
 *
 * @throws {StoreOpenError}
 */
export async function migrateStore(url: string): Promise<void> {
  const { engine, location } = findEngine(url);
  await engine.migrate(location);
}

/**
 * Copies the current state of a store into one file.
 *
 * @returns The number of plants in the file.
 * @throws {SettingsError} for a database that has its own backup tools.
 * @throws {BackupError}
 */
export async function backUpStore(url: string, options: BackupOptions): Promise<number> {
  const { engine, location } = findEngine(url);
  return await engine.backUp(location, options);
}

/**
 * Checks a store without changing a plant. Yields each finding as soon as it is known.
 *
 * @throws {SettingsError} for the URL. Everything else is reported as a finding.
 */
export function checkStore(url: string): AsyncIterable<Finding> {
  const { engine, location } = findEngine(url);
  return engine.check(location);
}

/** What is wrong with a URL, without any part that may be a password. */
export function findStoreProblem(url: string): string | undefined {
  const problems = problemsOf(() => describeStoreUrl(url));
  const texts = problems.map(({ setting, problem }) =>
    setting === "store" ? problem : `${setting}: ${problem}`,
  );
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** @throws {SettingsError} If the URL cannot name a store. */
export function describeStoreUrl(url: string): string {
  const { engine, location } = findEngine(url);
  return engine.describe(location);
}

function findEngine(url: string): { engine: EngineEntry; location: string } {
  const scheme = url.slice(0, Math.max(url.indexOf(":"), 0)).toLowerCase();
  const engine = engines.get(scheme);
  if (engine === undefined) {
    // Do not repeat the rest of the URL: it may contain a password.
    const found = scheme === "" ? "the store URL has no scheme" : `no store is called "${scheme}"`;
    const forms = [...new Set(engines.values())].map(({ form }) => form).join(", ");
    throw new SettingsError([{ setting: "store", problem: `${found}; there is: ${forms}` }]);
  }
  return { engine, location: url.slice(scheme.length + 1) };
}
