/** The settings of the command. Rarely used ones have no flag, only a variable and a key of the file. */
import { type CorsOptions, findHeaderProblem, renderProblem } from "connect-gateway";
import { readCa, readTlsMaterial, type TlsFiles } from "connect-gateway/server";
import { authSettings, findAuthProblems, hasAuth } from "connect-gateway-kit/auth/settings";
import * as kit from "connect-gateway-kit/settings";
import { isPassable } from "../services/metadata.ts";
import {
  hasCredentials,
  parseUpstreams,
  readHeaderFile,
  type UpstreamPlace,
} from "./upstream-place.ts";

const fileOfService = (summary: string) => kit.list(summary, { placeholder: "[SERVICE=]file" });
const nameOfService = (summary: string) => kit.list(summary, { placeholder: "[SERVICE=]name" });
const restSwitch = (name: string, summary: string) =>
  kit.off(`\`on\`: ${summary}`, { name: `rest-${name}` });

const { bodyBytesMax, bodyBudgetBytes, requestTimeoutMs, ...otherLimits } = kit.common.limits;

export const schema = {
  upstreams: kit.list(
    "Server of gRPC: `http://HOST:PORT`, `https://…` or `unix:PATH`. Of others: `rest+http://…`, `connect+…`, `grpc-web+…`. Repeatable",
    {
      name: "upstream",
      placeholder: "[SERVICE=]URL",
      secret: "password", // a URL with one is rejected, without showing it
      check: (urls) =>
        urls.some(hasCredentials) ? "must not contain a user name or password" : undefined,
    },
  ),
  descriptors: kit.file("Read the services from this descriptor set, made by `buf build -o FILE`"),
  reflection: kit.off("Read the services from the upstreams' server reflection"),
  reflectionIntervalMs: kit.milliseconds("How often reflection reads the services again", {
    name: "reflection-interval",
    default: 300_000,
  }),
  rules: kit.file("`google.api.http` rules in YAML, for methods without annotations"),
  host: { ...kit.common.listener.host, summary: "Address to listen on, or `unix:PATH`" },
  port: kit.common.listener.port,
  ...kit.inFileOnly({
    socketMode: kit.text(
      "Mode of that socket, in octal: `0660` lets the group connect. By default by the umask",
      { placeholder: "mode", check: kit.matching(/^0?[0-7]{3}$/, "must be octal, as 0660") },
    ),
    pathPrefix: kit.text("Path before all others, for a proxy that does not remove it: `/api`", {
      placeholder: "path",
      check: kit.matching(/^(\/[\w.~-]+)+$/, "must be a path like /api"),
    }),
  }),
  tls: kit.common.tls,
  upstreamCa: fileOfService(
    "Certificates to trust for https upstreams, in PEM; with `SERVICE=`, for that one",
  ),
  upstreamCert: fileOfService("Client certificate for the upstreams (mTLS)"),
  upstreamKey: fileOfService("Its private key in PEM"),
  upstreamServerName: nameOfService(
    "Name that the upstreams' certificate must have, if not the host of the URL",
  ),
  upstreamAuthority: nameOfService(
    "The `:authority` to send to the upstreams, if not the host and port of the URL",
  ),
  upstreamHeaders: fileOfService(
    "Headers to send to the upstreams, such as API keys: one line `NAME: VALUE` each",
  ),
  reflectionHeaders: fileOfService("The same, only for reflection and health checks"),
  ...kit.inFileOnly({
    upstreamQuietMs: kit.milliseconds(
      "How long an upstream that owes a response may be silent before it is probed",
      { default: 5000 },
    ),
  }),
  auth: authSettings,
  ...kit.common.rateLimit,
  requestMetadata: kit.list(
    "Request headers to pass on, besides `accept-language`, `authorization` and those of tracing",
    { check: findRequestMetadataProblem },
  ),
  ...kit.common.cors,
  corsExposedHeaders: kit.list(
    "Response headers that those pages may read, besides `x-request-id`",
    { check: findHeaderProblem },
  ),
  corsCredentials: kit.off("Those pages may send cookies and client certificates"),
  mcp: kit.list("Offer these methods to language models at `/mcp`; `on`, or no value: all", {
    placeholder: "SERVICE[/METHOD]",
    isBareFlag: true,
  }),
  ...kit.inFileOnly({
    mcpSchemas: kit.choice(
      "`plain`: schemas of tools without `$ref`, `anyOf` and `not`, which some models reject",
      ["full", "plain"],
      { default: "full" },
    ),
    mcpInstructions: kit.text("What models should know to use the tools", {
      check: () => undefined, // a block of YAML ends in a line break
    }),
    mcpResource: kit.text(
      "URL of `/mcp` for clients, which then find the issuer of their JWTs (RFC 9728)",
      { placeholder: "url", check: findUrlProblem },
    ),
  }),
  openapi: kit.off("Serve the OpenAPI document at `/openapi.json`, and a page of it at `/docs`"),
  ...kit.inFileOnly({
    openapiTitle: kit.text("Its title. By default the names of the services"),
    openapiVersion: kit.text("Its version", { default: "0.0.0" }),
    openapiServers: kit.list("URLs of the service for clients. By default the path prefix"),
  }),
  limits: {
    bodyBytesMax: { ...bodyBytesMax, summary: "Largest message, of clients and upstreams" },
    messageValuesMax: kit.number("Values in a message that is read: fields, and those of JSON", {
      default: 256 * 1024,
    }),
    bodyBudgetBytes,
    requestTimeoutMs,
    ...kit.inFileOnly(otherLimits),
  },
  timeoutMs: kit.milliseconds("Deadline of unary calls whose client sets none; 0: none", {
    min: 0,
  }),
  ...kit.inFileOnly({
    methodTimeoutsMs: kit.list("The same as `SERVICE[/METHOD]=MS`, for streams too", {
      placeholder: "SERVICE[/METHOD]=ms",
      check: findTimeoutProblem,
    }),
    maxTimeoutMs: kit.milliseconds(
      "Longest deadline of a client. Longer ones are rejected; 0: any",
      { min: 0 },
    ),
  }),
  ...kit.common.drain,
  ...kit.common.admin,
  ...kit.common.log,
  rest: kit.inFileOnly({
    ignoreUnknownFields: restSwitch("ignore-unknown-fields", "REST ignores unknown JSON fields"),
    int64Numbers: restSwitch(
      "int64-numbers",
      "REST writes 64-bit integers as numbers, which most readers round past 2^53",
    ),
    zeroValues: restSwitch("zero-values", "JSON includes fields that are zero or empty"),
    problemJson: restSwitch("problem-json", "REST errors are `application/problem+json`, RFC 9457"),
    etag: restSwitch("etag", "GET and HEAD over REST have an ETag"),
    ignoreQueryParameters: kit.list("Query parameters that are not for the service: `key,utm_*`", {
      name: "rest-ignore-query-parameters",
      check: (all) => (/\*[^,]/.test(`${all}`) ? "a * may only be at the end" : undefined),
    }),
  }),
};

type Values = kit.SettingsOf<typeof schema>;

export interface Settings extends Omit<Values, "upstreams" | "tls"> {
  readonly upstreams: readonly UpstreamPlace[];
  /** In place of host and port. */
  readonly socketPath: string | undefined;
  readonly tls: TlsFiles | undefined;
  readonly cors: CorsOptions | undefined;
}

export const proxyProgram = kit.createProgram({
  name: "connect-gateway-proxy",
  variablePrefix: "CONNECT_GATEWAY_",
  otherVariables: [],
  schema,
  findContradictions: (settings) => [
    ...findContradictions(settings),
    ...kit.findCommonProblems(settings),
    ...kit.problemsOf(() => parseUpstreams(settings)),
    ...findAuthProblems(settings.auth),
  ],
  finish: (settings): Settings => ({
    ...settings,
    upstreams: parseUpstreams(settings),
    socketPath: socketPathOf(settings.host),
    tls: kit.tlsFilesOf(settings.tls),
    cors: kit.corsOptions(settings.corsOrigins, {
      credentials: settings.corsCredentials,
      // Pages may send the headers that are passed on.
      allowedHeaders: settings.requestMetadata,
      exposedHeaders: settings.corsExposedHeaders,
    }),
  }),
});

export function assertFiles({ tls, upstreams }: Settings): void {
  kit.assertPortTls(tls);
  for (const { tls, headerFile, ownHeaderFile } of upstreams) {
    const { caFile, client } = tls;
    kit.assertFile("upstreamHeaders", () => readHeaderFile(headerFile));
    kit.assertFile("reflectionHeaders", () => readHeaderFile(ownHeaderFile));
    if (caFile !== undefined) kit.assertFile("upstreamCa", () => readCa(caFile));
    if (client !== undefined) kit.assertFile("upstreamCert", () => readTlsMaterial(client));
  }
}

function socketPathOf(host: string): string | undefined {
  return host.startsWith("unix:") ? host.slice("unix:".length) : undefined;
}

export function restOptionsOf({ rest }: Settings) {
  const { int64Numbers, problemJson, zeroValues: _ofEveryProtocol, ...own } = rest;
  return {
    ...own,
    int64: int64Numbers ? ("number" as const) : ("string" as const),
    ...(problemJson && { renderError: renderProblem }),
  };
}

function findRequestMetadataProblem(names: readonly string[]): string | undefined {
  const wrong = names.find((name) => !isPassable(name));
  return wrong === undefined ? undefined : `has a header that cannot be passed on: ${wrong}`;
}

function findUrlProblem(url: string): string | undefined {
  const isOfHttp = /^https?:/.test(URL.parse(url)?.protocol ?? "");
  return isOfHttp ? undefined : "must be a URL of https or http";
}

function findTimeoutProblem(texts: readonly string[]): string | undefined {
  const wrong = texts.find((text) => !/^[\w.]+(?:\/\w+)?=\d{1,9}$/.test(text));
  return wrong === undefined ? undefined : `must be SERVICE=MS or SERVICE/METHOD=MS: ${wrong}`;
}

export function timeoutsOf({ methodTimeoutsMs }: Pick<Settings, "methodTimeoutsMs">) {
  const pairs = methodTimeoutsMs.map((text) => text.split("="));
  return new Map(pairs.map(([name = "", ms]) => [name, Number(ms)]));
}

function findContradictions(settings: Values): kit.SettingProblem[] {
  const { upstreams, descriptors, reflection, host, port } = settings;
  const { corsOrigins, corsExposedHeaders, corsCredentials, auth, rateLimitPerToken } = settings;
  const found: kit.SettingProblem[] = [];
  const refuse = (isWrong: boolean, setting: string, problem: string, other?: string) => {
    if (isWrong) found.push({ setting, problem, ...(other !== undefined && { other }) });
  };
  refuse(upstreams.length === 0, "upstream", "is missing: set it to http://HOST:PORT");
  const isFile = descriptors !== undefined;
  const services = isFile
    ? "cannot be used with reflection: set one of them"
    : "is missing: name a file, or use reflection";
  refuse(isFile === reflection, "descriptors", services, "reflection");
  const isHttp = upstreams.some((one) => /^(?:[^=]*=)?(?:rest|connect|grpc-web)\+/.test(one));
  const noReflection = "is of gRPC upstreams alone: name a file";
  refuse(isHttp && reflection, "reflection", noReflection, "descriptors");
  const isIdle = socketPathOf(host) !== undefined && port !== schema.port.default;
  refuse(isIdle, "port", "does nothing: the host is a Unix socket", "host");
  refuse(socketPathOf(host) === "", "host", "must name the socket: unix:PATH");
  const isUnmoded = socketPathOf(host) === undefined && settings.socketMode !== undefined;
  refuse(isUnmoded, "socketMode", "does nothing: the host is no Unix socket", "host");
  const isAnonymous = settings.mcpResource !== undefined && auth.jwtIssuer === undefined;
  refuse(isAnonymous, "mcpResource", "requires the issuer of JWTs", "jwtIssuer");
  const isOff = corsOrigins.length === 0;
  const noOrigins = "does nothing without origins that may call";
  refuse(isOff && corsExposedHeaders.length > 0, "corsExposedHeaders", noOrigins);
  refuse(isOff && corsCredentials, "corsCredentials", noOrigins);
  const anybody = "cannot be used with the origin *: name the origins";
  refuse(corsCredentials && corsOrigins.includes("*"), "corsCredentials", anybody, "corsOrigin");
  const noTokens = "requires tokens: set a token file, tokens or a JWKS";
  refuse(rateLimitPerToken > 0 && !hasAuth(auth), "rateLimitPerToken", noTokens);
  return found;
}
