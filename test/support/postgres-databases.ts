import { randomBytes } from "node:crypto";
import { queryPostgres } from "./postgres-client.ts";

export type PostgresDatabases = ReturnType<typeof openDatabases>;

/** The password of every role. Conspicuous where it should not appear. */
export const password = "a/secret:that@nobody?sees#";

/** Not the id of the process: a test that resets modules would begin the numbers anew. */
const run = randomBytes(4).toString("hex");

/**
 * Databases and roles of a running PostgreSQL.
 *
 * @param params Added to every store URL.
 */
export function openDatabases(port: number, params: readonly string[]) {
  /** The store URL of one of its databases, with settings such as `sslmode=require`. */
  function url(database: string, role = "postgres", ...given: readonly string[]): string {
    const all = [...given, ...params];
    const login = `${role}:${encodeURIComponent(password)}`;
    const query = all.length === 0 ? "" : `?${all.join("&")}`;
    return `postgres://${login}@127.0.0.1:${port}/${database}${query}`;
  }

  /** Runs SQL as the superuser. */
  const query = (sql: string, database = "postgres") => queryPostgres(url(database), sql);

  let names = 0;
  return {
    ...{ port, url, query },
    async createDatabase(options = "ENCODING 'UTF8'") {
      // Several processes may share the server.
      const name = `plants_${run}_${++names}`;
      await query(`CREATE DATABASE ${name} TEMPLATE template0 ${options}`);
      return name;
    },
    async createRole(options = "") {
      const name = `role_${run}_${++names}`;
      await query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}' ${options}`);
      return name;
    },
  };
}
