/** The settings that every program with a port has. */
import { type CorsOptions, findOriginProblem } from "connect-gateway";
import { defaultLimits, parseAddressBlocks, timerMaxMs } from "connect-gateway/limits";
import { readCa, readTlsMaterial, type TlsFiles, TlsFilesError } from "connect-gateway/server";
import { type Group, type SettingProblem, SettingsError, type ValuesOf } from "./schema.ts";

/** The same settings without flags. */
export function inFileOnly<G extends Group>(group: G): G {
  return Object.fromEntries(
    Object.entries(group).map(([option, setting]) => [option, { ...setting, from: "file" }]),
  ) as unknown as G;
}

/** Shared by settings of one kind. */
export const text = { type: "text", default: undefined, placeholder: "text" } as const;
export const file = { ...text, placeholder: "file" } as const;
export const list = { type: "list", default: [], placeholder: "list" } as const;
export const off = { type: "switch", default: false } as const;
export const on = { type: "switch", default: true } as const;
export const number = {
  type: "integer",
  placeholder: "number",
  default: 0,
  min: 1,
  max: timerMaxMs,
} as const;
export const bytes = { ...number, unit: "bytes" } as const;
export const milliseconds = { ...number, unit: "ms" } as const;

const address = {
  ...text,
  default: "127.0.0.1", // reachable only from this machine
  placeholder: "address",
  pattern: { form: /./s, rule: "must not be empty" },
} as const;

const port = { ...number, min: 0, max: 65_535 } as const;

const { headerBytesMax, requestTimeoutMs, idleTimeoutMs, connectionsMax, streamsMax } =
  defaultLimits;

/** Far more requests per second than a server can serve. */
const rate = { ...number, min: 0, max: 100_000 } as const;

/** Groups of settings, by what they are about. Each program puts them together in its schema. */
export const common = {
  listener: {
    host: { ...address, summary: "Address to listen on" },
    port: { ...port, default: 8080, summary: "Port; 0 picks a free one and prints it" },
  },
  tls: {
    certFile: {
      ...file,
      name: "tls-cert",
      summary: "Certificate chain in PEM; enables TLS. Reloaded when it changes",
    },
    keyFile: { ...file, name: "tls-key", summary: "Its private key in PEM" },
    clientCaFile: {
      ...file,
      name: "tls-client-ca",
      summary: "Clients need a certificate that a CA in this file signed (mTLS). PEM; reloaded too",
    },
  },
  /** A limit for everything that a client could make grow. The reasons are those of the library. */
  limits: {
    bodyBytesMax: {
      ...bytes,
      default: 4 * 1024 * 1024,
      summary: "Largest request body, compressed or not",
    },
    /** With the rest of the server, it fits into a container of 512 MiB. */
    bodyBudgetBytes: {
      ...bytes,
      default: 64 * 1024 * 1024,
      summary: "Bodies in memory, of all requests together",
    },
    headerBytesMax: { ...bytes, default: headerBytesMax, summary: "Largest request headers" },
    requestTimeoutMs: {
      ...milliseconds,
      default: requestTimeoutMs,
      summary: "Time for request headers. In each such time, a body needs 240 bytes/s",
    },
    idleTimeoutMs: {
      ...milliseconds,
      default: idleTimeoutMs,
      summary: "How long a connection may be idle",
    },
    connectionsMax: { ...number, default: connectionsMax, summary: "Open connections" },
    /** Off by default, because behind a proxy all clients have one address. */
    connectionsPerAddressMax: {
      ...number,
      min: 0,
      summary: "Open connections from one address; 0: no limit",
    },
    connectionsExempt: {
      ...list,
      summary: "Addresses exempt from that limit, such as proxies: `10.0.0.1,fd00::/8`",
      check: findAddressProblem,
    },
    streamsMax: {
      ...number,
      // Closing a connection costs the square of its streams: 63 ms for 10,000.
      max: 4096,
      default: streamsMax,
      summary: "Concurrent requests on one HTTP/2 connection",
    },
  },
  drain: {
    drainTimeoutMs: {
      ...milliseconds,
      min: 0,
      default: 10_000,
      summary: "How long the last requests may take after SIGTERM",
    },
  },
  log: {
    logFormat: {
      ...text,
      default: "auto",
      placeholder: "auto|json|text",
      summary: "Log format: `text`, `json`, or `auto` (text on a terminal)",
      pattern: { form: /^(auto|json|text)$/, rule: "must be auto, json or text" },
    },
    accessLog: {
      ...text,
      default: "off",
      placeholder: "on|errors|off",
      summary: "`on`: a log line for each request, with its id; `errors`: only failed ones",
      pattern: { form: /^(on|errors|off)$/, rule: "must be on, errors or off" },
    },
  },
  admin: {
    adminPort: {
      ...port,
      default: undefined,
      summary: "Port of the metrics; 0 picks a free one. Not set: no metrics",
    },
    adminHost: { ...address, summary: "Address of the metrics" },
  },
  cors: {
    corsOrigins: {
      ...list,
      name: "cors-origin",
      summary: "Origins allowed to call from browsers: `https://a.example,…`, or `*`",
      check: findOriginProblem,
    },
  },
  rateLimit: {
    rateLimitPerToken: { ...rate, summary: "Requests per second with one token; 0: no limit" },
    rateLimitPerAddress: { ...rate, summary: "Requests per second from one address; 0: no limit" },
  },
} as const satisfies Readonly<Record<string, Group>>;

type Listeners = ValuesOf<typeof common.listener & typeof common.admin>;

/** What contradicts itself in settings that every program has. */
export function findCommonProblems(settings: Listeners & { readonly tls: TlsGroup }) {
  return [...findTlsProblems(settings.tls), ...findAdminProblems(settings)];
}

/** One port for two listeners. */
function findAdminProblems({ host, port, adminHost, adminPort }: Listeners): SettingProblem[] {
  const covers = (one: string, other: string) =>
    one === other ||
    (one === "::" && !other.startsWith("unix:")) ||
    (one === "0.0.0.0" && !other.includes(":"));
  if (port === 0 || port !== adminPort) return [];
  if (!covers(host, adminHost) && !covers(adminHost, host)) return [];
  return [{ setting: "adminPort", other: "port", problem: "must not be that of port" }];
}

/** CORS for pages of these origins; undefined for none. */
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
  return certFile === undefined || keyFile === undefined
    ? undefined
    : { certFile, keyFile, ...others };
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

/** @throws {SettingsError} if the files cannot be used, so that it is known before the start. */
export function assertTlsFiles(setting: string, read: () => unknown): void {
  try {
    read();
  } catch (cause) {
    if (!(cause instanceof TlsFilesError)) throw cause;
    throw new SettingsError([{ setting, problem: cause.message }], { cause });
  }
}

export function assertPortTls(files: TlsFiles | undefined): void {
  if (files === undefined) return;
  const { clientCaFile, ...pair } = files;
  assertTlsFiles("tlsCert", () => readTlsMaterial(pair));
  if (clientCaFile !== undefined) assertTlsFiles("tlsClientCa", () => readCa(clientCaFile));
}
