import type { TlsFiles } from "connect-gateway/server";
import type { AuthOptions } from "../../auth/settings.ts";
import { describeStoreUrl } from "../../store/open.ts";
import { StoreOpenError } from "../../store/open-error.ts";
import { findOriginProblem } from "../cors.ts";
import { limitSettings, timerMaxMs } from "./limits.ts";
import type { Setting } from "./setting.ts";

/** Far more requests per second than a server can serve. */
const rateLimitMax = 100_000;

/**
 * All settings, in the order of the help. An entry is all that a setting needs: its flag, variable,
 * key, help, checks and row in docs/settings.md are generated from it. Groups are those
 * of ServerOptions.
 */
export const schema = {
  /** By default, reachable only from this machine. */
  host: {
    type: "text",
    default: "127.0.0.1",
    placeholder: "address",
    summary: "Address to listen on",
    pattern: { form: /./s, rule: "must not be empty" },
  },
  port: {
    type: "integer",
    default: 8080,
    min: 0,
    max: 65_535,
    placeholder: "number",
    summary: "Port; 0 picks a free one and prints it",
  },
  store: {
    type: "text",
    default: "sqlite:./data/plants.db",
    placeholder: "url",
    summary: "Where plants are kept: `sqlite:PATH` or `postgres://…`",
    secret: "password",
    check: findStoreProblem,
  },
  basePath: {
    type: "text",
    default: "",
    placeholder: "path",
    summary: "Prefix of every path, RPC too, for example `/api`",
    pattern: {
      form: /^(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/,
      rule: "must look like /api, without a slash at its end",
    },
  },
  auth: {
    tokenFile: {
      type: "text",
      default: "./data/tokens",
      placeholder: "path",
      summary: "Where opaque tokens are kept",
    },
    tokens: {
      type: "list",
      default: [],
      placeholder: "tokens",
      summary: "Opaque tokens of 16 characters or more, separated by commas",
      from: "variable",
      secret: "whole",
    },
    jwksUrl: {
      type: "text",
      default: undefined,
      placeholder: "url",
      summary: "Accept JWTs signed by a key of this set",
      // A URL with a password is rejected, without showing the password.
      secret: "password",
    },
    jwtIssuer: {
      type: "text",
      default: undefined,
      placeholder: "iss",
      summary: "The `iss` that a JWT must have",
    },
    jwtAudience: {
      type: "text",
      default: undefined,
      placeholder: "aud",
      summary: "The `aud` that a JWT must have",
    },
  },
  tls: {
    certFile: {
      name: "tls-cert",
      type: "text",
      default: undefined,
      placeholder: "file",
      summary: "Certificate chain in PEM; enables TLS. Reloaded when it changes",
    },
    keyFile: {
      name: "tls-key",
      type: "text",
      default: undefined,
      placeholder: "file",
      summary: "Its private key in PEM",
    },
  },
  limits: limitSettings,
  reusePort: {
    type: "switch",
    default: false,
    placeholder: "on|off",
    summary: "`on`: several servers on one PostgreSQL share the port; only on Linux",
  },
  logFormat: {
    type: "text",
    default: "auto",
    placeholder: "auto|json|text",
    summary: "Log format: `text`, `json`, or `auto` (text on a terminal)",
    pattern: { form: /^(auto|json|text)$/, rule: "must be auto, json or text" },
  },
  accessLog: {
    type: "text",
    default: "off",
    placeholder: "on|errors|off",
    summary: "`on`: a log line for each request, with its id; `errors`: only failed ones",
    pattern: { form: /^(on|errors|off)$/, rule: "must be on, errors or off" },
  },
  drainTimeoutMs: {
    type: "integer",
    default: 10_000,
    min: 0,
    max: timerMaxMs,
    unit: "ms",
    placeholder: "number",
    summary: "How long the last requests may take after SIGTERM",
  },
  adminPort: {
    type: "integer",
    default: undefined,
    min: 0,
    max: 65_535,
    placeholder: "number",
    summary: "Port of the metrics; 0 picks a free one. Not set: no metrics",
  },
  /** By default, reachable only from this machine. */
  adminHost: {
    type: "text",
    default: "127.0.0.1",
    placeholder: "address",
    summary: "Address of the metrics",
    pattern: { form: /./s, rule: "must not be empty" },
  },
  health: {
    type: "switch",
    default: true,
    placeholder: "on|off",
    summary: "`off`: no `/healthz`, `/readyz` and `grpc.health.v1`",
  },
  reflection: {
    type: "switch",
    default: true,
    placeholder: "on|off",
    summary: "`off`: no `grpc.reflection`",
  },
  page: {
    type: "switch",
    default: true,
    placeholder: "on|off",
    summary: "`off`: no page at `/`, no reference at `/docs`, no `/openapi.json`",
  },
  mcp: {
    type: "switch",
    default: false,
    placeholder: "on|off",
    summary: "`on`: language models may create plants, at `/mcp`",
  },
  corsOrigins: {
    name: "cors-origin",
    type: "list",
    default: [],
    placeholder: "list",
    summary: "Origins allowed to call from browsers: `https://a.example,…`, or `*`",
    check: findOriginProblem,
  },
  rateLimitPerToken: {
    type: "integer",
    default: 0,
    min: 0,
    max: rateLimitMax,
    placeholder: "number",
    summary: "Requests per second with one token; 0: no limit",
  },
  rateLimitPerAddress: {
    type: "integer",
    default: 0,
    min: 0,
    max: rateLimitMax,
    placeholder: "number",
    summary: "Requests per second from one address; 0: no limit",
  },
} as const satisfies SchemaTree & {
  readonly auth: Readonly<Record<keyof AuthOptions, Setting>>;
  readonly tls: Readonly<Record<keyof TlsFiles, Setting>>;
};

type SchemaTree = Readonly<Record<string, Setting | Readonly<Record<string, Setting>>>>;

/** A setting with its names. */
export interface SchemaEntry {
  readonly setting: Setting;
  /** As operators write it, in flags and files: `tls-cert`. */
  readonly name: string;
  /** As errors name it: `tlsCert`. */
  readonly id: string;
  /** Its place in ServerOptions: `["tls", "certFile"]`. */
  readonly path: readonly [string] | readonly [group: string, option: string];
}

export const schemaEntries: readonly SchemaEntry[] = Object.entries<SchemaTree[string]>(
  schema,
).flatMap(([key, node]) =>
  isSetting(node)
    ? [createEntry([key], node)]
    : Object.entries(node).map(([option, setting]) => createEntry([key, option], setting)),
);

function isSetting(node: SchemaTree[string]): node is Setting {
  return typeof node["type"] === "string";
}

function createEntry(path: SchemaEntry["path"], setting: Setting): SchemaEntry {
  const name =
    setting.name ??
    String(path.at(-1)).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const id = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return { setting, name, id, path };
}

function findStoreProblem(url: string): string | undefined {
  try {
    describeStoreUrl(url);
    return undefined;
  } catch (error) {
    if (error instanceof StoreOpenError) return error.message;
    throw error;
  }
}
