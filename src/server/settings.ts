import { type AuthOptions, type AuthSettings, resolveAuthOptions } from "../auth/settings.ts";
import { assertCorsOrigins } from "./cors.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type Log, stderrLog } from "./log.ts";
import { SettingsError } from "./settings-error.ts";
import type { TlsFiles } from "./tls.ts";

export interface ServerSettings {
  /** The address to listen on. Default 127.0.0.1: reachable from this machine alone. */
  readonly host: string;
  /** The TCP port; 0 takes a free one. Default 8080. */
  readonly port: number;
  /** Stands before every path, for example `/api`. Default none. */
  readonly basePath: string;
  /** The store URL. Default `sqlite:./data/plants.db`. */
  readonly store: string;
  /** Who gets in. Default: the tokens in the file `./data/tokens`. */
  readonly auth: AuthSettings;
  /** Serves TLS instead of clear text, when given. */
  readonly tls: TlsFiles | undefined;
  /** How long requests under way may take to finish at the end, in ms. Default 10 s. */
  readonly drainTimeoutMs: number;
  /**
   * Threads that serve the port. Default 1. More need Linux, whose kernel spreads
   * the connections among all that listen.
   */
  readonly threads: number;
  /** Whether `/healthz`, `/readyz` and `grpc.health.v1.Health` are served, to anyone. Default yes. */
  readonly health: boolean;
  /** Whether `grpc.reflection` tells anyone the protos of the services. Default yes. */
  readonly reflection: boolean;
  /** Origins whose browser pages may call, for example `https://app.example`; `*` alone for any. Default none. */
  readonly corsOrigins: readonly string[];
  readonly limits: Limits;
  readonly log: Log;
}

/** What a caller gives: all of it is optional. */
export type ServerOptions = Partial<Omit<ServerSettings, "auth" | "limits">> & {
  readonly auth?: AuthOptions;
  readonly limits?: Partial<Limits>;
};

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {SettingsError} {@link AuthSettingError}
 */
export function resolveSettings(options: ServerOptions): ServerSettings {
  const { auth, limits, ...given } = options;
  const settings: ServerSettings = {
    host: "127.0.0.1",
    port: 8080,
    basePath: "",
    store: "sqlite:./data/plants.db",
    tls: undefined,
    drainTimeoutMs: 10_000,
    threads: 1,
    health: true,
    reflection: true,
    corsOrigins: [],
    log: stderrLog,
    ...given,
    auth: resolveAuthOptions({ tokenFile: "./data/tokens", ...auth }),
    limits: { ...defaultLimits, ...limits },
  };
  assertInteger("port", settings.port, 0, 65_535);
  assertInteger("drainTimeoutMs", settings.drainTimeoutMs, 0, timerMaxMs);
  for (const [name, value] of Object.entries(settings.limits)) {
    assertInteger(name, value, 1, timerMaxMs);
  }
  assertInteger("bodyBytesMax", settings.limits.bodyBytesMax, 1, bodyBytesCeiling);
  assertThreads(settings);
  assertCorsOrigins(settings.corsOrigins);
  if (settings.host === "") throw new SettingsError("host", "must not be empty");
  if (!/^(\/(?!\.{1,2}(\/|$))[\w.~-]+)*$/.test(settings.basePath)) {
    throw new SettingsError("basePath", "must look like /api, without a slash at its end");
  }
  return settings;
}

/** More than the cores of most machines. Each has a heap, and its own part of every limit. */
const threadsMax = 64;

function assertThreads({ threads, limits }: ServerSettings): void {
  assertInteger("threads", threads, 1, threadsMax);
  if (threads > 1 && process.platform !== "linux") {
    throw new SettingsError("threads", "only Linux can share a port among threads; must be 1 here");
  }
  if (threads > limits.connectionsMax) {
    throw new SettingsError("threads", `must not be more than connectionsMax: ${threads}`);
  }
}

/** Half of what may wait for a commit: a larger plant could never be taken. */
const bodyBytesCeiling = 32 * 1024 * 1024;

/** A timer over this fires at once; no size or count of ours comes near it. */
const timerMaxMs = 2 ** 31 - 1;

function assertInteger(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new SettingsError(name, `must be a whole number from ${min} to ${max}: ${value}`);
  }
}
