/** The settings of the command. What few need has no flag: it is a variable, or a key of the file. */
import { renderProblem } from "connect-gateway";
import type { TlsFiles } from "connect-gateway/server";
import { authSettings, findAuthProblems, hasAuth } from "../auth/settings.ts";
import {
  adminSettings,
  corsSettings,
  drainSettings,
  inFileOnly,
  limitSettings,
  listenerSettings,
  logSettings,
  rateLimitSettings,
  timerMaxMs,
  tlsSettings,
} from "../settings/common.ts";
import type { Program } from "../settings/program.ts";
import { createSchema, type OptionsOf, type SettingsOf } from "../settings/schema.ts";
import type { SettingProblem } from "../settings/settings-error.ts";
import {
  assertPortTls,
  assertTlsFiles,
  findTlsProblems,
  tlsFilesOf,
} from "../settings/tls-files.ts";
import { parseUpstreams, type UpstreamPlace } from "./upstream-place.ts";
import { readUpstreamTls, type UpstreamTlsFiles } from "./upstream-tls.ts";

const file = { type: "text", default: undefined, placeholder: "file" } as const;
const off = { type: "switch", default: false } as const;
const names = { type: "list", default: [], placeholder: "list" } as const;

const { bodyBytesMax, requestTimeoutMs, ...otherLimits } = limitSettings;

export const schema = {
  upstreams: {
    name: "upstream",
    ...names,
    placeholder: "[SERVICE=]URL",
    summary:
      "gRPC server, `http://HOST:PORT` or `https://`; with `SERVICE=`, for it alone. Repeat it",
    check: findUpstreamProblem,
  },
  descriptors: { ...file, summary: "The services, as a descriptor set: `buf build -o FILE`" },
  reflection: { ...off, summary: "The services, from the upstreams' server reflection" },
  rules: { ...file, summary: "`google.api.http` rules in YAML, for methods without annotations" },
  ...listenerSettings,
  tls: tlsSettings,
  upstreamTls: {
    caFile: {
      ...file,
      name: "upstream-ca",
      summary: "Certificates to trust of https upstreams, in PEM",
    },
    certFile: {
      ...file,
      name: "upstream-cert",
      summary: "Client certificate for the upstreams (mTLS)",
    },
    keyFile: { ...file, name: "upstream-key", summary: "Its private key in PEM" },
    serverName: {
      ...file,
      name: "upstream-server-name",
      placeholder: "name",
      summary: "Name that the upstreams' certificate must have, if not the host of the URL",
    },
  },
  auth: authSettings,
  ...rateLimitSettings,
  requestMetadata: {
    ...names,
    summary: "Request headers to pass on, besides `authorization` and those of tracing",
  },
  ...corsSettings,
  openapi: {
    ...off,
    summary: "Serve the OpenAPI document at `/openapi.json`, and a page of it at `/docs`",
  },
  limits: {
    bodyBytesMax: {
      ...bodyBytesMax,
      summary: "Largest message, of clients and upstreams",
    },
    requestTimeoutMs: {
      ...requestTimeoutMs,
      summary: "How long a client may take to send a request or a whole stream",
    },
    ...inFileOnly(otherLimits),
  },
  timeoutMs: {
    type: "integer",
    default: 0,
    min: 0,
    max: timerMaxMs,
    unit: "ms",
    placeholder: "number",
    summary: "Deadline of unary calls whose client sets none; 0: none",
  },
  ...drainSettings,
  ...adminSettings,
  ...logSettings,
  rest: inFileOnly({
    ignoreUnknownFields: {
      name: "rest-ignore-unknown-fields",
      ...off,
      summary: "`on`: REST ignores unknown JSON fields",
    },
    int64Numbers: {
      name: "rest-int64-numbers",
      ...off,
      summary: "`on`: REST writes 64-bit integers as numbers, which most readers round past 2^53",
    },
    zeroValues: {
      name: "rest-zero-values",
      ...off,
      summary: "`on`: JSON has fields that are zero or empty, too",
    },
    problemJson: {
      name: "rest-problem-json",
      ...off,
      summary: "`on`: REST errors are `application/problem+json`, RFC 9457",
    },
    etag: { name: "rest-etag", ...off, summary: "`on`: GET and HEAD over REST have an ETag" },
  }),
} as const;

type Values = SettingsOf<typeof schema>;

export interface Settings extends Omit<Values, "upstreams" | "tls" | "upstreamTls"> {
  readonly upstreams: readonly UpstreamPlace[];
  readonly tls: TlsFiles | undefined;
  readonly upstreamTls: UpstreamTlsFiles;
}

const { entries, resolve } = createSchema(schema, (settings) => [
  ...findServiceProblems(settings),
  ...findTlsProblems(settings.tls),
  ...findTlsProblems(settings.upstreamTls, "upstream"),
  ...findAuthProblems(settings.auth),
  ...findRateProblems(settings),
]);

export const proxyProgram: Program<OptionsOf<typeof schema>, Settings> = {
  name: "connect-gateway-proxy",
  variablePrefix: "CONNECT_GATEWAY_",
  entries,
  otherVariables: [],
  resolve(options) {
    const settings = resolve(options);
    const { upstreams, tls, upstreamTls } = settings;
    const { caFile, serverName } = upstreamTls;
    return {
      ...settings,
      upstreams: parseUpstreams(upstreams),
      tls: tlsFilesOf(tls),
      upstreamTls: { caFile, serverName, client: tlsFilesOf(upstreamTls) },
    };
  },
};

/** @throws {SettingsError} for files of TLS that cannot be used. */
export function assertFiles({ tls, upstreamTls }: Settings): void {
  assertPortTls(tls);
  const isCa = upstreamTls.client === undefined;
  assertTlsFiles(() => readUpstreamTls(upstreamTls), isCa ? "upstreamCa" : "upstreamCert");
}

/** REST options of the gateway. */
export function restOptionsOf({ rest }: Settings) {
  return {
    ignoreUnknownFields: rest.ignoreUnknownFields,
    int64: rest.int64Numbers ? ("number" as const) : ("string" as const),
    etag: rest.etag,
    ...(rest.problemJson && { renderError: renderProblem }),
  };
}

function findUpstreamProblem(texts: readonly string[]): string | undefined {
  try {
    parseUpstreams(texts);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function findServiceProblems({ upstreams, descriptors, reflection }: Values): SettingProblem[] {
  const setting = "descriptors";
  const other = "reflection";
  return [
    ...(upstreams.length === 0
      ? [{ setting: "upstream", problem: "is missing: set it to http://HOST:PORT" }]
      : []),
    ...(descriptors === undefined && !reflection
      ? [{ setting, other, problem: "is missing: name a file, or use reflection" }]
      : []),
    ...(descriptors !== undefined && reflection
      ? [{ setting, other, problem: "cannot be used with reflection: set one of them" }]
      : []),
  ];
}

function findRateProblems({ auth, rateLimitPerToken }: Values): SettingProblem[] {
  if (rateLimitPerToken === 0 || hasAuth(auth)) return [];
  const problem = "requires tokens: set a token file, tokens or a JWKS";
  return [{ setting: "rateLimitPerToken", problem }];
}
