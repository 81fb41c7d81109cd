import { readFileSync } from "node:fs";

export interface Host {
  /** A host name, an IP address, or the directory of a Unix socket (`/run/postgresql`). */
  readonly name: string;
  readonly port: number;
}

export interface PostgresAddress {
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Of the tables; quoted if necessary. Undefined until the store is opened. */
  readonly schema?: string | undefined;
  /** How a host is connected to: `disable`, `require` or `verify-full`. */
  readonly sslModeOf: (host: string) => string;
  /** A file of trusted certificates in PEM, instead of Node's. */
  readonly caFile: string | undefined;
  readonly connectionsMax: number;
  readonly allowUnsafe: ReadonlySet<string>;
  /** By cluster and hosts, the newest timeline; by writable host, its cluster. None: not asked. */
  readonly timelines?: Map<string, string>;
}

export function describeAddress({ hosts, user, database }: PostgresAddress): string {
  return `postgres://${encodeURIComponent(user)}@${hosts.map(describeHost).join(",")}/${encodeURIComponent(database)}`;
}

export function describeHost({ name, port }: Host): string {
  return `${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** The TLS options of a connection, for the driver and for node:tls. Reads the CAs each time. */
export function tlsOptionsFor({ sslModeOf, caFile }: PostgresAddress, { name }: Host) {
  if (isSocketFolder(name)) return false;
  const mode = sslModeOf(name);
  if (mode === "disable") return false;
  const ca = caFile === undefined ? undefined : readFileSync(caFile, "utf8");
  return { rejectUnauthorized: mode === "verify-full", ca };
}

export function isSocketFolder(name: string): boolean {
  return name.startsWith("/");
}
