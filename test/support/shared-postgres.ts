/**
 * One PostgreSQL for a whole test run. vitest starts it before the tests and stops it after them.
 */
import { openDatabases, type PostgresDatabases } from "./postgres-databases.ts";
import { hasPostgres, startPostgres } from "./postgres-server.ts";

const variable = "PLANT_STORE_TEST_POSTGRES_PORT";

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (!hasPostgres) return undefined;
  const settings = { fsync: "off", max_connections: "200" };
  const server = await startPostgres({ settings, isTemplate: process.platform !== "win32" });
  process.env[variable] = String(server.port);
  // Otherwise vitest would end without its teardown.
  process.on("SIGTERM", () => process.exit(143));
  return async () => await server[Symbol.asyncDispose]();
}

let shared: PostgresDatabases | undefined;

/** @returns undefined outside vitest: a campaign starts its own servers. */
export function findSharedPostgres(): PostgresDatabases | undefined {
  const port = process.env[variable];
  if (port !== undefined) shared ??= openDatabases(Number(port), ["allow_unsafe=fsync"]);
  return shared;
}

/** The shared server in the form of one that a file starts itself. */
export const sharedServer = {
  get current(): PostgresDatabases {
    const server = findSharedPostgres();
    if (server === undefined) throw new Error("vitest has started no PostgreSQL");
    return server;
  },
};
