/** The URL of a PostgreSQL store. Its options are named as in libpq where it has them. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as kit from "connect-gateway-kit/settings";
import type { PostgresLocation } from "../store/open.ts";
import type { Host } from "../store/postgres/address.ts";
import {
  connectionsCeiling,
  defaultConnectionsMax,
  safetySettings,
} from "../store/postgres/limits.ts";

/** Values are never told: after a typo in a URL, any part may be the password. */
const ofUrl = { from: "url", secret: "whole" } as const;

const schema = {
  sslMode: kit.choice(
    "`disable`, `require` (encrypted alone) or `verify-full` (name and CA checked). None: `require`; for local hosts `disable`",
    ["disable", "require", "verify-full"],
    { ...ofUrl, name: "sslmode", default: undefined },
  ),
  sslRootCert: kit.file(
    "CAs to trust in place of Node's, in PEM, for `verify-full`. Read for each connection",
    { ...ofUrl, name: "sslrootcert", check: findCaProblem },
  ),
  connectionsMax: kit.number(
    `Connections of one server, up to ${connectionsCeiling}. As many statements run at once`,
    { ...ofUrl, name: "pool_max_conns", default: defaultConnectionsMax, max: connectionsCeiling },
  ),
  allowUnsafe: kit.list("`fsync`, `full_page_writes`: accept a server that runs without them", {
    ...ofUrl,
    name: "allow_unsafe",
    check: findUnsafeProblem,
  }),
  /** A store writes, so hosts that reject writes are always skipped, with or without it. */
  targetSessionAttrs: kit.choice(
    "`read-write` or `primary`, for compatibility. Read-only hosts are never used",
    ["read-write", "primary"],
    { ...ofUrl, name: "target_session_attrs", default: "read-write" },
  ),
};

export const storeUrl = kit.createProgram({
  name: "store URL",
  variablePrefix: "",
  otherVariables: [],
  schema,
  findContradictions: ({ sslMode, sslRootCert }) =>
    sslRootCert === undefined || sslMode === "verify-full"
      ? []
      : [{ setting: "sslrootcert", other: "sslmode", problem: "requires sslmode=verify-full" }],
  finish: (options) => options,
});

const form = /^\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/;
const hostForm = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/;

/** Messages repeat no part of the URL: any may be the password. @throws {SettingsError} */
export function parsePostgresUrl(location: string): PostgresLocation {
  const [, userInfoText = "", hostList = "", database = "", query = ""] = form.exec(location) ?? [
    refuse(
      "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and special characters in each part as %XX",
    ),
  ];
  const [userText = "", ...passwordParts] = userInfoText.split(":");
  const user = decode(userText) || refuse("add a user");
  const { sslMode, sslRootCert, connectionsMax, allowUnsafe } = parseUrlOptions(query);
  return {
    engine: "postgres",
    hosts: hostList.split(",").map(parseHost),
    user,
    password: decode(passwordParts.join(":")) || (process.env["PGPASSWORD"] ?? ""),
    database: decode(database) || user,
    sslModeOf: (host) => sslMode ?? (kit.isThisMachine(host) ? "disable" : "require"),
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
  throw new kit.SettingsError([{ setting: "store", problem }]);
}

/** An entry of the schema is all that an option needs. @throws {SettingsError} */
function parseUrlOptions(query: string) {
  const values = new Map<string, kit.GivenValue>();
  const found = new Set<string>();
  for (const [name, text] of new URLSearchParams(query)) {
    const known = storeUrl.entries.map((entry) => entry.name);
    if (!known.includes(name)) found.add(`the supported settings are ${known.join(", ")}`);
    else if (values.has(name)) found.add(`${name} is given twice`);
    else if (text === "") found.add(`${name} has no value`);
    else values.set(name, { text, written: name, origin: "URL" });
  }
  const problems = [...found].map((problem) => ({ setting: "store", problem }));
  const assembled = kit.assembleOptions(storeUrl, { values, problems, warnings: [] });
  if (assembled.problems.length > 0) throw new kit.SettingsError(assembled.problems);
  return storeUrl.resolve(assembled.options);
}

/** In a file without a certificate, OpenSSL would trust none, and blame the server's. */
function findCaProblem(file: string): string | undefined {
  try {
    new X509Certificate(readFileSync(file, "utf8"));
    return undefined;
  } catch {
    return "names a file that cannot be read as certificates in PEM";
  }
}

function findUnsafeProblem(names: readonly string[]): string | undefined {
  const isKnown = (name: string) => safetySettings.some((setting) => setting === name);
  return names.every(isKnown) ? undefined : `must be a list of ${safetySettings.join(", ")}`;
}
