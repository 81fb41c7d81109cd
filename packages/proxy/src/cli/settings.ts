import { readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { CommandError } from "./command-error.ts";
import type { GivenFlags } from "./flags.ts";
import { parseUpstreams, type UpstreamPlace } from "./upstream-place.ts";
import { readUpstreamTls, type UpstreamTlsFiles } from "./upstream-tls.ts";

export interface Settings {
  readonly upstreams: readonly UpstreamPlace[];
  /** The file of the descriptor set; undefined for reflection. */
  readonly descriptors: string | undefined;
  readonly rules: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly upstreamTls: UpstreamTlsFiles;
  /** Besides those that are passed on by default. */
  readonly requestMetadata: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly openapi: boolean;
  readonly bodyBytesMax: number;
  readonly bodyBudgetBytes: number;
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
  const settings: Settings = {
    upstreams: parseUpstreams(flags.upstream ?? []),
    descriptors,
    rules: flags.rules,
    host: flags.host ?? "127.0.0.1",
    port: integer("port", flags.port, { min: 0, max: portMax, fallback: 8080 }),
    tls: pairOf("tls-cert", flags["tls-cert"], "tls-key", flags["tls-key"]),
    upstreamTls: {
      caFile: flags["upstream-ca"],
      client: pairOf(
        ...(["upstream-cert", flags["upstream-cert"]] as const),
        ...(["upstream-key", flags["upstream-key"]] as const),
      ),
      serverName: flags["upstream-server-name"],
    },
    requestMetadata: listOf(flags["request-metadata"]),
    corsOrigins: listOf(flags["cors-origin"]),
    openapi: flags.openapi ?? false,
    bodyBytesMax: integer("body-bytes-max", flags["body-bytes-max"], {
      ...{ min: 1, max: bodyBytesCeiling, fallback: 4 * 1024 * 1024 },
    }),
    bodyBudgetBytes: integer("body-budget-bytes", flags["body-budget-bytes"], {
      ...{ min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 64 * 1024 * 1024 },
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

function pairOf(
  certFlag: string,
  certFile: string | undefined,
  keyFlag: string,
  keyFile: string | undefined,
): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new CommandError(`--${certFlag} and --${keyFlag} must be given together`);
}

function assertTlsFiles({ tls, upstreamTls }: Settings): void {
  try {
    if (tls !== undefined) readTlsMaterial(tls);
    readUpstreamTls(upstreamTls);
  } catch (error) {
    if (error instanceof TlsFilesError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}
