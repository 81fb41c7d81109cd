import { type CorsOptions, findOriginProblem } from "connect-gateway";
import { readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { CommandError } from "./command-error.ts";
import type { GivenFlags } from "./flags.ts";
import { pairOf, parseUpstreams, type UpstreamPlace } from "./upstream-place.ts";
import { readUpstreamTls } from "./upstream-tls.ts";

export interface Settings {
  readonly upstreams: readonly UpstreamPlace[];
  /** The file of the descriptor set; undefined for reflection. */
  readonly descriptors: string | undefined;
  readonly rules: string | undefined;
  readonly reflectionIntervalMs: number;
  readonly host: string;
  readonly port: number;
  /** In place of host and port. */
  readonly socketPath: string | undefined;
  readonly tls: TlsFiles | undefined;
  /** Besides those that are passed on by default. */
  readonly requestMetadata: readonly string[];
  readonly cors: CorsOptions | undefined;
  readonly openapi: boolean;
  readonly bodyBytesMax: number;
  readonly requestTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly logFormat: string;
  readonly accessLog: string;
}

const portMax = 65_535;

/** A timer over this fires at once. */
const timerMaxMs = 2 ** 31 - 1;

/** As much as a message may have in protobuf. */
const bodyBytesCeiling = 2 ** 31 - 1;

/** Checks what was given, and the files of TLS. @throws {CommandError} */
export function resolveSettings(flags: GivenFlags): Settings {
  const { descriptors, reflection = false } = flags;
  if ((descriptors === undefined) !== reflection) {
    const what = reflection ? "both --descriptors and --reflection" : "no services";
    throw new CommandError(`${what}: give --descriptors FILE or --reflection`);
  }
  const integer = (name: keyof GivenFlags, value: string | undefined, range: Range) =>
    parseInteger(`--${name}`, value, range);
  const timeout = { min: 1, max: timerMaxMs, fallback: 10_000 };
  const adminPort = flags["admin-port"];
  if (adminPort === undefined && flags["admin-host"] !== undefined) {
    throw new CommandError("--admin-host does nothing without --admin-port");
  }
  const { host = "127.0.0.1" } = flags;
  const socketPath = host.startsWith("unix:") ? host.slice("unix:".length) : undefined;
  if (socketPath !== undefined && flags.port !== undefined) {
    throw new CommandError("--host unix:PATH has no --port");
  }
  const requestMetadata = listOf(flags["request-metadata"]);
  const settings: Settings = {
    upstreams: parseUpstreams(flags),
    reflectionIntervalMs: integer("reflection-interval", flags["reflection-interval"], {
      ...{ ...timeout, fallback: 300_000 },
    }),
    descriptors,
    rules: flags.rules,
    host,
    socketPath,
    port: integer("port", flags.port, { min: 0, max: portMax, fallback: 8080 }),
    tls: pairOf("tls-cert", flags["tls-cert"], "tls-key", flags["tls-key"]),
    requestMetadata,
    cors: corsOf(flags, requestMetadata),
    openapi: flags.openapi ?? false,
    bodyBytesMax: integer("body-bytes-max", flags["body-bytes-max"], {
      ...{ min: 1, max: bodyBytesCeiling, fallback: 4 * 1024 * 1024 },
    }),
    requestTimeoutMs: integer("request-timeout-ms", flags["request-timeout-ms"], timeout),
    drainTimeoutMs: integer("drain-timeout-ms", flags["drain-timeout-ms"], { ...timeout, min: 0 }),
    admin:
      adminPort === undefined
        ? undefined
        : {
            host: flags["admin-host"] ?? "127.0.0.1",
            port: integer("admin-port", adminPort, { min: 0, max: portMax, fallback: 0 }),
          },
    logFormat: oneOf("log-format", flags["log-format"] ?? "auto", ["auto", "json", "text"]),
    accessLog: oneOf("access-log", flags["access-log"] ?? "off", ["on", "errors", "off"]),
  };
  assertTlsFiles(settings);
  return settings;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
}

function parseInteger(flag: string, value: string | undefined, { min, max, fallback }: Range) {
  if (value === undefined) return fallback;
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new CommandError(`${flag} must be an integer from ${min} to ${max}: ${value}`);
}

function oneOf(flag: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new CommandError(`--${flag} must be ${known.join(", ")}: ${value}`);
}

function listOf(value = ""): readonly string[] {
  return value.split(",").filter((one) => one !== "");
}

function corsOf(flags: GivenFlags, requestMetadata: readonly string[]): CorsOptions | undefined {
  const { "cors-origin": given, "cors-exposed-headers": exposed } = flags;
  const credentials = flags["cors-credentials"] ?? false;
  const origins = listOf(given);
  if (origins.length === 0) {
    if (exposed === undefined && !credentials) return undefined;
    throw new CommandError("--cors-exposed-headers, --cors-credentials: give --cors-origin too");
  }
  const problem = findOriginProblem(origins);
  if (problem !== undefined) throw new CommandError(`--cors-origin ${problem}`);
  if (credentials && origins.includes("*")) {
    throw new CommandError("--cors-credentials: name the origins in --cors-origin, not *");
  }
  const exposedHeaders = listOf(exposed);
  return { origins, credentials, exposedHeaders, allowedHeaders: requestMetadata };
}

function assertTlsFiles({ tls, upstreams }: Settings): void {
  try {
    if (tls !== undefined) readTlsMaterial(tls);
    for (const upstream of upstreams) readUpstreamTls(upstream.tls);
  } catch (error) {
    if (error instanceof TlsFilesError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}
