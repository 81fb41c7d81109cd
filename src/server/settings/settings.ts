import type { Log } from "connect-gateway/logging";
import type { TlsFiles } from "connect-gateway/server";
import { createStderrLog } from "connect-gateway-proxy/logging";
import {
  type AuthOptions,
  AuthSettingError,
  type AuthSettings,
  resolveAuthOptions,
} from "../../auth/settings.ts";
import type { Limits } from "./limits.ts";
import { type SchemaEntry, type schema, schemaEntries } from "./schema.ts";
import { findProblem, type Setting, type SettingValue, type ValueOf } from "./setting.ts";
import { type SettingProblem, SettingsError } from "./settings-error.ts";

/** The settings without a group. */
type PlainSettings = {
  readonly [Option in keyof typeof schema as (typeof schema)[Option] extends Setting
    ? Option
    : never]: (typeof schema)[Option] extends Setting ? ValueOf<(typeof schema)[Option]> : never;
};

/** All settings, checked, with defaults. */
export interface ServerSettings extends PlainSettings {
  /** Tokens and JWTs that are accepted. */
  readonly auth: AuthSettings;
  /** Serves TLS instead of plaintext, if set. */
  readonly tls: TlsFiles | undefined;
  readonly limits: Limits;
  readonly log: Log;
}

/** Options of a caller: all are optional. */
export type ServerOptions = Partial<PlainSettings> & {
  readonly auth?: AuthOptions;
  /** Both files, or neither. */
  readonly tls?: Partial<TlsFiles> | undefined;
  readonly limits?: Partial<Limits>;
  readonly log?: Log;
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {SettingsError} with every problem.
 */
export function resolveSettings(options: ServerOptions): ServerSettings {
  const filled = fillDefaults(options);
  const problems = schemaEntries.flatMap((entry) => findEntryProblem(entry, filled));
  const wrong = new Set(problems.map(({ setting }) => setting));
  const auth = resolveAuth(filled.auth);
  const contradictions = [
    ...findTlsProblems(filled),
    ...findSharingProblems(filled),
    ...("problem" in auth ? [auth] : []),
  ];
  // A problem of one setting is reported once.
  problems.push(
    ...contradictions.filter(({ setting, other = "" }) => !wrong.has(setting) && !wrong.has(other)),
  );
  if ("problem" in auth || problems.length > 0) throw new SettingsError(problems);
  const { certFile, keyFile } = filled.tls;
  const tls = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
  return { ...filled, auth, tls };
}

interface FilledOptions extends PlainSettings {
  readonly auth: AuthOptions;
  readonly tls: Partial<TlsFiles>;
  readonly limits: Limits;
  readonly log: Log;
}

/** A given option overrides its default, also if it is `undefined`. */
function fillDefaults({ log, ...options }: ServerOptions): FilledOptions {
  const filled: OptionTree = {};
  for (const { path, setting } of schemaEntries) {
    setOption(filled, path, hasOption(options, path) ? getOption(options, path) : setting.default);
  }
  filled["log"] = log ?? createStderrLog(String(filled["logFormat"]));
  return filled as unknown as FilledOptions;
}

function findEntryProblem({ setting, id, path }: SchemaEntry, filled: object): SettingProblem[] {
  const problem = findProblem(setting, getOption(filled, path) as SettingValue);
  return problem === undefined ? [] : [{ setting: id, problem }];
}

function findTlsProblems({ tls: { certFile, keyFile } }: FilledOptions): SettingProblem[] {
  const problem = "is missing: set both the certificate and its key";
  if (certFile === undefined && keyFile !== undefined) return [{ setting: "tlsCert", problem }];
  if (certFile !== undefined && keyFile === undefined) return [{ setting: "tlsKey", problem }];
  return [];
}

/** Elsewhere, the kernel would give all connections to one of them, or refuses. */
function findSharingProblems({ reusePort, store }: FilledOptions): SettingProblem[] {
  const setting = "reusePort";
  if (!reusePort) return [];
  if (process.platform !== "linux") {
    return [{ setting, problem: "must be off: only Linux spreads connections over a shared port" }];
  }
  if (/^sqlite:/i.test(store)) {
    const problem = "must be off unless store is PostgreSQL: one process alone serves SQLite";
    return [{ setting, problem, other: "store" }];
  }
  return [];
}

function resolveAuth(options: AuthOptions): AuthSettings | SettingProblem {
  try {
    return resolveAuthOptions(options);
  } catch (error) {
    if (!(error instanceof AuthSettingError)) throw error;
    const { setting, problem, other } = error;
    return { setting, problem, ...(other !== undefined && { other }) };
  }
}

type OptionTree = Record<string, unknown>;

function hasOption(options: object, path: SchemaEntry["path"]): boolean {
  const [key, option] = path;
  const node = (options as OptionTree)[key];
  return option === undefined ? Object.hasOwn(options, key) : Object.hasOwn(node ?? {}, option);
}

function getOption(options: object, [key, option]: SchemaEntry["path"]): unknown {
  const node = (options as OptionTree)[key];
  return option === undefined ? node : (node as OptionTree | undefined)?.[option];
}

/** Sets the option at the path of a schema entry, and creates its group. */
export function setOption(
  options: OptionTree,
  [key, option]: SchemaEntry["path"],
  value: unknown,
): void {
  if (option === undefined) options[key] = value;
  else options[key] = { ...(options[key] as OptionTree | undefined), [option]: value };
}
