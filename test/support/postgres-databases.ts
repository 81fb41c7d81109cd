import { queryPostgres } from "./postgres-client.ts";

/** Databases and roles of a running PostgreSQL. */
export interface PostgresDatabases {
  readonly port: number;
  /** The store URL of one of its databases, with settings such as `sslmode=require`. */
  url(database: string, role?: string, ...params: readonly string[]): string;
  /** Creates an empty database and returns its name. */
  createDatabase(options?: string): Promise<string>;
  /** Creates a role with login and returns its name. */
  createRole(options?: string): Promise<string>;
  /** Runs SQL as the superuser. */
  query(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
}

/** The password of every role. Conspicuous where it should not appear. */
export const password = "a/secret:that@nobody?sees#";

/** @param params Added to every store URL. */
export function openDatabases(port: number, params: readonly string[]): PostgresDatabases {
  function url(database: string, role = "postgres", ...given: readonly string[]): string {
    const all = [...given, ...params];
    const login = `${role}:${encodeURIComponent(password)}`;
    const query = all.length === 0 ? "" : `?${all.join("&")}`;
    return `postgres://${login}@127.0.0.1:${port}/${database}${query}`;
  }

  const query = (sql: string, database = "postgres") => queryPostgres(url(database), sql);

  let names = 0;
  return {
    port,
    url,
    query,
    async createDatabase(options = "ENCODING 'UTF8'") {
      // Several processes may share the server.
      const name = `plants_${process.pid}_${++names}`;
      await query(`CREATE DATABASE ${name} TEMPLATE template0 ${options}`);
      return name;
    },
    async createRole(options = "") {
      const name = `role_${process.pid}_${++names}`;
      await query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}' ${options}`);
      return name;
    },
  };
}
