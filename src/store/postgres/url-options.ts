/** The options in a store URL, named as in libpq where it has them. An entry is all that one needs. */
import { readFileSync } from "node:fs";
import {
  assembleOptions,
  createSchema,
  file,
  type GivenValue,
  list,
  number,
  type OptionsOf,
  type Program,
  type Setting,
  SettingsError,
  type SettingsOf,
  text,
} from "connect-gateway-kit/settings";
import { connectionsCeiling, defaultConnectionsMax } from "./limits.ts";

/** Server settings that must be on. Without them, a crash loses plants. */
export const safetySettings = ["fsync", "full_page_writes"] as const;

/** Values are never told: after a typo in a URL, any part may be the password. */
const ofUrl = { from: "url", secret: "whole" } as const satisfies Partial<Setting>;

const schema = {
  sslMode: {
    ...{ ...text, ...ofUrl },
    name: "sslmode",
    summary:
      "`disable`, `require` (encrypted alone) or `verify-full` (name and CA checked). None: `require`; for local hosts `disable`",
    pattern: {
      form: /^(disable|require|verify-full)$/,
      rule: "must be disable, require or verify-full",
    },
  },
  sslRootCert: {
    ...{ ...file, ...ofUrl },
    name: "sslrootcert",
    summary: "CAs to trust in place of Node's, in PEM, for `verify-full`. Read for each connection",
    check: findFileProblem,
  },
  connectionsMax: {
    ...{ ...number, ...ofUrl },
    name: "pool_max_conns",
    default: defaultConnectionsMax,
    max: connectionsCeiling,
    summary: `Connections of one server, up to ${connectionsCeiling}. As many statements run at once`,
  },
  allowUnsafe: {
    ...{ ...list, ...ofUrl },
    name: "allow_unsafe",
    summary: "`fsync`, `full_page_writes`: accept a server that runs without them",
    check: findUnsafeProblem,
  },
  /** A store writes, so hosts that reject writes are always skipped, with or without it. */
  targetSessionAttrs: {
    ...{ ...text, ...ofUrl },
    name: "target_session_attrs",
    default: "read-write",
    summary: "`read-write` or `primary`, for compatibility. Read-only hosts are never used",
    pattern: { form: /^(read-write|primary)$/, rule: "must be read-write or primary" },
  },
} as const;

type UrlOptions = SettingsOf<typeof schema>;

const { entries, resolve } = createSchema(schema, ({ sslMode, sslRootCert }) =>
  sslRootCert === undefined || sslMode === "verify-full"
    ? []
    : [{ setting: "sslrootcert", other: "sslmode", problem: "requires sslmode=verify-full" }],
);

export const storeUrl: Program<OptionsOf<typeof schema>, UrlOptions> = {
  name: "store URL",
  variablePrefix: "",
  otherVariables: [],
  entries,
  resolve,
};

/** @throws {SettingsError} */
export function parseUrlOptions(query: string): UrlOptions {
  const values = new Map<string, GivenValue>();
  const found = new Set<string>();
  for (const [name, text] of new URLSearchParams(query)) {
    const known = entries.map((entry) => entry.name);
    if (!known.includes(name)) found.add(`the supported settings are ${known.join(", ")}`);
    else if (values.has(name)) found.add(`${name} is given twice`);
    else if (text === "") found.add(`${name} has no value`);
    else values.set(name, { text, written: name, origin: "URL" });
  }
  const problems = [...found].map((problem) => ({ setting: "store", problem }));
  const assembled = assembleOptions(storeUrl, { values, problems, warnings: [] });
  if (assembled.problems.length > 0) throw new SettingsError(assembled.problems);
  return resolve(assembled.options);
}

function findFileProblem(file: string): string | undefined {
  try {
    readFileSync(file);
    return undefined;
  } catch {
    return "names a file that cannot be read";
  }
}

function findUnsafeProblem(names: readonly string[]): string | undefined {
  const isKnown = (name: string) => safetySettings.some((setting) => setting === name);
  return names.every(isKnown) ? undefined : `must be a list of ${safetySettings.join(", ")}`;
}
