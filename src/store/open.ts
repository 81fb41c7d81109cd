import type { PlantStore } from "../plant.ts";
import { StoreOpenError } from "./open-error.ts";
import type { StoreOptions } from "./options.ts";
import type { PlantReader } from "./plant-reader.ts";
import {
  describePostgres,
  migratePostgres,
  openPostgres,
  openPostgresReader,
  readPostgresSchema,
} from "./postgres/open.ts";
import type { SchemaState } from "./schema-state.ts";
import {
  describeSqlite,
  identifySqlite,
  migrateSqlite,
  openSqlite,
  openSqliteReader,
  readSqliteSchema,
} from "./sqlite/open.ts";

/** Opens the store at `location`: what follows the scheme and its colon. */
type OpenEngine = (location: string, options: StoreOptions) => Promise<PlantStore>;

/** Who opens a store that several threads of one process use. */
export type StoreOwner = "process" | "thread";

interface EngineEntry {
  /** How its URLs are written, for error messages. */
  readonly form: string;
  readonly open: OpenEngine;
  readonly openReader: (location: string) => Promise<PlantReader>;
  readonly readSchema: (location: string) => Promise<SchemaState>;
  readonly migrate: (location: string) => Promise<void>;
  /** The URL of a store that was opened, for people: without secrets. */
  readonly describe: (location: string) => string;
  /** The same for two locations that are known to be one store. */
  readonly identify: (location: string) => string;
  readonly owner: StoreOwner;
}

const sqlite: EngineEntry = {
  form: "sqlite:PATH",
  open: openSqlite,
  openReader: openSqliteReader,
  readSchema: readSqliteSchema,
  migrate: migrateSqlite,
  describe: describeSqlite,
  identify: identifySqlite,
  // It has one writer, on a thread of its own.
  owner: "process",
};

const postgres: EngineEntry = {
  form: "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
  open: openPostgres,
  openReader: openPostgresReader,
  readSchema: readPostgresSchema,
  migrate: migratePostgres,
  describe: describePostgres,
  identify: describePostgres,
  // Its connections are read and written by the thread that has them.
  owner: "thread",
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

/** @throws {StoreOpenError} For a URL that no store could have been opened at. */
export function describeStoreUrl(url: string): string {
  const { engine, location } = findEngine(url);
  return engine.describe(location);
}

/** @throws {StoreOpenError} For a URL of no store. */
export function findStoreOwner(url: string): StoreOwner {
  return findEngine(url).engine.owner;
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
