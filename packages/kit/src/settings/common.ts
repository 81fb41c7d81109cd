/** The settings that every program with a port has. */
import { type CorsOptions, findOriginProblem } from "connect-gateway";
import { defaultLimits, parseAddressBlocks } from "connect-gateway/limits";
import { readCa, readTlsMaterial, type TlsFiles } from "connect-gateway/server";
import {
  bytes,
  choice,
  file,
  type Group,
  list,
  milliseconds,
  number,
  type SettingProblem,
  SettingsError,
  type SettingsOf,
  text,
} from "./schema.ts";

export function inFileOnly<G extends Group>(group: G): G {
  return Object.fromEntries(
    Object.entries(group).map(([option, setting]) => [option, { ...setting, from: "file" }]),
  ) as unknown as G;
}

const address = (summary: string) =>
  text(summary, {
    default: "127.0.0.1", // reachable only from this machine
    placeholder: "address",
  });

const ports = { min: 0, max: 65_535 };

const { headerBytesMax, requestTimeoutMs, idleTimeoutMs, connectionsMax, streamsMax } =
  defaultLimits;

/** Far more requests per second than a server can serve. */
const rates = { min: 0, max: 100_000 };

export const common = {
  listener: {
    host: address("Address to listen on"),
    port: number("Port to listen on; 0 picks a free one", { ...ports, default: 8080 }),
  },
  tls: {
    certFile: file("Certificate chain in PEM; enables TLS. Reloaded when it changes", {
      name: "tls-cert",
    }),
    keyFile: file("Its private key in PEM", { name: "tls-key" }),
    clientCaFile: file(
      "Require client certificates signed by a CA in this PEM file (mTLS). Reloaded too",
      { name: "tls-client-ca" },
    ),
  },
  /** A limit for everything that a client could make grow. The reasons are those of the library. */
  limits: {
    bodyBytesMax: bytes("Largest request body, compressed or not", { default: 4 * 1024 * 1024 }),
    /** With the rest of the server, it fits into a container of 512 MiB. */
    bodyBudgetBytes: bytes("Bodies in memory, of all requests together", {
      default: 64 * 1024 * 1024,
    }),
    headerBytesMax: bytes("Largest request headers", { default: headerBytesMax }),
    requestTimeoutMs: milliseconds(
      "Time for request headers. During each such time, 240 bytes/s of a body must arrive",
      { default: requestTimeoutMs },
    ),
    idleTimeoutMs: milliseconds("How long a connection may be idle", { default: idleTimeoutMs }),
    connectionsMax: number("Open connections", { default: connectionsMax }),
    /** Off by default, because behind a proxy all clients have one address. */
    connectionsPerAddressMax: number("Open connections from one address; 0: no limit", { min: 0 }),
    connectionsExempt: list(
      "Addresses exempt from that limit, such as proxies: `10.0.0.1,fd00::/8`",
      { check: findAddressProblem },
    ),
    streamsMax: number("Concurrent requests on one HTTP/2 connection", {
      max: 4096, // closing a connection costs the square of its streams: 63 ms for 10,000
      default: streamsMax,
    }),
  },
  drain: {
    drainTimeoutMs: milliseconds("How long the last requests may take after SIGTERM", {
      min: 0,
      default: 10_000,
    }),
  },
  log: {
    logFormat: choice(
      "Log format: `text`, `json`, or `auto` (text on a terminal)",
      ["auto", "json", "text"],
      { default: "auto" },
    ),
    accessLog: choice(
      "`on`: a log line for each request, with its id; `errors`: only failed ones",
      ["on", "errors", "off"],
      { default: "off" },
    ),
  },
  admin: {
    adminPort: number("Port of the metrics; 0 picks a free one. Not set: no metrics", {
      ...ports,
      default: undefined,
    }),
    adminHost: address("Address of the metrics"),
  },
  cors: {
    corsOrigins: list("Origins allowed to call from browsers: `https://a.example,…`, or `*`", {
      name: "cors-origin",
      check: findOriginProblem,
    }),
  },
  rateLimit: {
    rateLimitPerToken: number("Requests per second with one token; 0: no limit", rates),
    rateLimitPerAddress: number("Requests per second from one address; 0: no limit", rates),
  },
};

type Listeners = SettingsOf<typeof common.listener & typeof common.admin>;
type Limits = SettingsOf<typeof common.limits>;

export function findCommonProblems(settings: Listeners & { tls: TlsGroup; limits: Limits }) {
  const { tls, limits } = settings;
  return [...findTlsProblems(tls), ...findAdminProblems(settings), ...findBudgetProblems(limits)];
}

/** One may take seven eighths, with 8 KiB beside its body. A larger one would always get 503. */
function findBudgetProblems({ bodyBytesMax, bodyBudgetBytes }: Limits): SettingProblem[] {
  const min = Math.ceil(((bodyBytesMax + 8192) * 8) / 7);
  if (bodyBudgetBytes >= min) return [];
  const problem = `must be at least ${min}, for a body of bodyBytesMax`;
  return [{ setting: "bodyBudgetBytes", other: "bodyBytesMax", problem }];
}

function findAdminProblems({ host, port, adminHost, adminPort }: Listeners): SettingProblem[] {
  const covers = (one: string, other: string) =>
    one === other ||
    (one === "::" && !other.startsWith("unix:")) ||
    (one === "0.0.0.0" && !other.includes(":"));
  if (adminPort === undefined && adminHost !== common.admin.adminHost.default) {
    return [{ setting: "adminHost", problem: "does nothing without a port for the metrics" }];
  }
  if (port === 0 || port !== adminPort) return [];
  if (!covers(host, adminHost) && !covers(adminHost, host)) return [];
  return [{ setting: "adminPort", other: "port", problem: "must not be that of port" }];
}

export function corsOptions(
  origins: readonly string[],
  { exposedHeaders = [], ...others }: Omit<CorsOptions, "origins"> = {},
): CorsOptions | undefined {
  if (origins.length === 0) return undefined;
  const ofLimits = ["RateLimit", "RateLimit-Policy"];
  return { origins, ...others, exposedHeaders: [...ofLimits, ...exposedHeaders] };
}

function findAddressProblem(addresses: readonly string[]): string | undefined {
  try {
    parseAddressBlocks(addresses);
    return undefined;
  } catch (error) {
    return (error as TypeError).message;
  }
}

type TlsGroup = { readonly [K in keyof TlsFiles]-?: TlsFiles[K] | undefined };

export function tlsFilesOf({ certFile, keyFile, ...others }: TlsGroup): TlsFiles | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, ...others };
}

function findTlsProblems({ certFile, keyFile, clientCaFile }: TlsGroup): SettingProblem[] {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const setting = certFile === undefined ? "tlsCert" : "tlsKey";
    return [{ setting, problem: "is missing: set both the certificate and its key" }];
  }
  if (certFile !== undefined || clientCaFile === undefined) return [];
  const problem = "does nothing without TLS: set tlsCert and its key";
  return [{ setting: "tlsClientCa", other: "tlsCert", problem }];
}

/** @throws {SettingsError} if a file cannot be used, so that it is known before the start. */
export function assertFile(setting: string, read: () => unknown): void {
  try {
    read();
  } catch (cause) {
    throw new SettingsError([{ setting, problem: (cause as Error).message }], { cause });
  }
}

export function assertPortTls(files: TlsFiles | undefined): void {
  if (files === undefined) return;
  const { clientCaFile, ...pair } = files;
  assertFile("tlsCert", () => readTlsMaterial(pair));
  if (clientCaFile !== undefined) assertFile("tlsClientCa", () => readCa(clientCaFile));
}
