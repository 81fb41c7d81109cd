import { readFileSync } from "node:fs";
import { StoreOpenError } from "../open-error.ts";
import { connectionsCeiling, defaultConnectionsMax } from "./limits.ts";

export interface Host {
  /** A host name, an IP address, or the directory of a Unix socket (`/run/postgresql`). */
  readonly name: string;
  readonly port: number;
}

/** `require` encrypts without checking the server's identity; `verify-full` also checks it. */
type SslMode = "disable" | "require" | "verify-full";

/** Server settings that must be on. Without them, a crash loses plants. */
export const safetySettings = ["fsync", "full_page_writes"] as const;
export type SafetySetting = (typeof safetySettings)[number];

/** A parsed store URL. */
export interface PostgresAddress {
  /** In the order in which they are tried. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Undefined: `disable` for a host on this machine, `require` for any other. */
  readonly sslMode: SslMode | undefined;
  /** Trusted certificates in PEM, instead of Node's. */
  readonly ca: string | undefined;
  readonly connectionsMax: number;
  /** Settings that the operator allows to be off. */
  readonly allowUnsafe: ReadonlySet<SafetySetting>;
}

const form = /^\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/;
const hostForm = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/;

/**
 * @param location The URL after `postgres:`. Never repeat any part of it in a message: after a
 * typo, any part may be the password.
 * @throws {StoreOpenError} `invalid_url`
 */
export function parseAddress(location: string): PostgresAddress {
  const [, userInfoText = "", hostList = "", database = "", query = ""] = form.exec(location) ?? [
    refuse(
      "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and special characters in each part as %XX",
    ),
  ];
  const [userText = "", ...passwordParts] = userInfoText.split(":");
  const user = decode(userText) || refuse("add a user");
  const settings = parseSettings(query);
  return {
    hosts: hostList.split(",").map(parseHost),
    user,
    password: decode(passwordParts.join(":")) || (process.env["PGPASSWORD"] ?? ""),
    database: decode(database) || user,
    ...settings,
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

function parseSettings(query: string) {
  const given = new URLSearchParams(query);
  const known = Object.keys(settingParsers) as (keyof typeof settingParsers)[];
  for (const name of given.keys()) {
    if (!Object.hasOwn(settingParsers, name))
      refuse(`the supported settings are ${known.join(", ")}`);
    if (given.getAll(name).length > 1) refuse(`${name} is given twice`);
  }
  const read = <Name extends keyof typeof settingParsers>(name: Name) =>
    settingParsers[name](given.get(name) ?? undefined) as ReturnType<(typeof settingParsers)[Name]>;
  const sslMode = read("sslmode");
  const ca = read("sslrootcert");
  if (ca !== undefined && sslMode !== "verify-full") {
    refuse("sslrootcert requires sslmode=verify-full");
  }
  read("target_session_attrs");
  return {
    sslMode,
    ca,
    connectionsMax: read("pool_max_conns"),
    allowUnsafe: read("allow_unsafe"),
  };
}

/** Each receives the value of its setting, or undefined if it is missing. */
const settingParsers = {
  sslmode(value: string | undefined): SslMode | undefined {
    if (value === undefined || value === "disable") return value;
    if (value === "require" || value === "verify-full") return value;
    return refuse("sslmode is disable, require or verify-full");
  },
  sslrootcert(file: string | undefined): string | undefined {
    try {
      return file === undefined ? undefined : readFileSync(file, "utf8");
    } catch (cause) {
      return refuse("the file that sslrootcert names cannot be read", cause);
    }
  },
  /**
   * A store writes, so hosts that reject writes are always skipped, with or without this setting.
   */
  target_session_attrs(value = "read-write"): void {
    if (value !== "read-write" && value !== "primary") {
      refuse("target_session_attrs is read-write or primary");
    }
  },
  pool_max_conns(value = String(defaultConnectionsMax)): number {
    const number = /^[0-9]{1,3}$/.test(value) ? Number(value) : 0;
    if (number < 1 || number > connectionsCeiling) {
      refuse(`pool_max_conns is a number from 1 to ${connectionsCeiling}`);
    }
    return number;
  },
  allow_unsafe(value: string | undefined): ReadonlySet<SafetySetting> {
    const names = value?.split(",") ?? [];
    const isKnown = (name: string): name is SafetySetting =>
      safetySettings.some((setting) => setting === name);
    if (!names.every(isKnown)) refuse(`allow_unsafe is a list of ${safetySettings.join(", ")}`);
    return new Set(names.filter(isKnown));
  },
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse("% starts an escape; write % itself as %25");
  }
}

function refuse(advice: string, cause?: unknown): never {
  throw new StoreOpenError("invalid_url", `cannot use the store URL: ${advice}`, { cause });
}

/** The URL without its password. @throws {StoreOpenError} `invalid_url` */
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

/** The TLS options for the driver, and for node:tls beneath it. */
export function tlsOptionsFor({ sslMode, ca }: PostgresAddress, { name }: Host) {
  if (isSocketFolder(name)) return false;
  const mode = sslMode ?? (isThisMachine(name) ? "disable" : "require");
  if (mode === "disable") return false;
  return { rejectUnauthorized: mode === "verify-full", ...(ca !== undefined && { ca }) };
}

export function isSocketFolder(name: string): boolean {
  return name.startsWith("/");
}

function isThisMachine(name: string): boolean {
  return name === "localhost" || name === "::1" || /^127(\.\d+){3}$/.test(name);
}
