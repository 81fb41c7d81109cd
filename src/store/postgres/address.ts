import { readFileSync } from "node:fs";
import { SettingsError } from "connect-gateway-kit/settings";
import { parseUrlOptions } from "./url-options.ts";

export interface Host {
  /** A host name, an IP address, or the directory of a Unix socket (`/run/postgresql`). */
  readonly name: string;
  readonly port: number;
}

/** A parsed store URL. */
export interface PostgresAddress {
  /** In the order in which they are tried. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Of the tables; quoted if necessary. Undefined until the store is opened. */
  readonly schema?: string | undefined;
  /** Undefined: `disable` for a host on this machine, `require` for any other. */
  readonly sslMode: string | undefined;
  /** A file of trusted certificates in PEM, instead of Node's. */
  readonly caFile: string | undefined;
  readonly connectionsMax: number;
  /** Settings that the operator allows to be off. */
  readonly allowUnsafe: ReadonlySet<string>;
}

const form = /^\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/;
const hostForm = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/;

/**
 * @param location The URL after `postgres:`. Never repeat any part of it in a message: after a
 * typo, any part may be the password.
 * @throws {SettingsError}
 */
export function parseAddress(location: string): PostgresAddress {
  const [, userInfoText = "", hostList = "", database = "", query = ""] = form.exec(location) ?? [
    refuse(
      "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and special characters in each part as %XX",
    ),
  ];
  const [userText = "", ...passwordParts] = userInfoText.split(":");
  const user = decode(userText) || refuse("add a user");
  const { sslMode, sslRootCert, connectionsMax, allowUnsafe } = parseUrlOptions(query);
  return {
    hosts: hostList.split(",").map(parseHost),
    user,
    password: decode(passwordParts.join(":")) || (process.env["PGPASSWORD"] ?? ""),
    database: decode(database) || user,
    sslMode,
    caFile: sslRootCert,
    connectionsMax,
    allowUnsafe: new Set(allowUnsafe),
  };
}

function parseHost(text: string): Host {
  const [, ip, name = "", port = "5432"] = hostForm.exec(text) ?? [
    refuse("a host is NAME, NAME:PORT or [IPV6]:PORT; several are separated by commas"),
  ];
  const number = Number(port);
  if (number < 1 || number > 65_535) refuse("a port is a number from 1 to 65535");
  return { name: (ip ?? decode(name)) || "localhost", port: number };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse("% starts an escape; write % itself as %25");
  }
}

function refuse(advice: string): never {
  const problem = `cannot use the store URL: ${advice}`;
  throw new SettingsError([{ setting: "store", problem }]);
}

/** The URL without its password. @throws {SettingsError} */
export function describePostgres(location: string): string {
  return describeAddress(parseAddress(location));
}

/** The address without its secrets, for messages and logs. */
export function describeAddress({ hosts, user, database }: PostgresAddress): string {
  return `postgres://${encodeURIComponent(user)}@${hosts.map(describeHost).join(",")}/${encodeURIComponent(database)}`;
}

export function describeHost({ name, port }: Host): string {
  return `${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/**
 * The TLS options of a connection, for the driver, and for node:tls beneath it. Reads the CAs, which
 * may have changed since the last one.
 */
export function tlsOptionsFor({ sslMode, caFile }: PostgresAddress, { name }: Host) {
  if (isSocketFolder(name)) return false;
  const mode = sslMode ?? (isThisMachine(name) ? "disable" : "require");
  if (mode === "disable") return false;
  const ca = caFile === undefined ? undefined : readFileSync(caFile, "utf8");
  return { rejectUnauthorized: mode === "verify-full", ca };
}

export function isSocketFolder(name: string): boolean {
  return name.startsWith("/");
}

function isThisMachine(name: string): boolean {
  return name === "localhost" || name === "::1" || /^127(\.\d+){3}$/.test(name);
}
