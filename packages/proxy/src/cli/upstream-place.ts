import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { ClientTls } from "connect-gateway/client";
import { readCa, readTlsMaterial, type TlsFiles } from "connect-gateway/server";
import { SettingsError } from "connect-gateway-kit/settings";
import { findMetadataProblem } from "../services/metadata.ts";

export interface UpstreamPlace {
  readonly url: string;
  readonly protocol: "grpc" | "rest" | "connect" | "grpc-web";
  /** The full names of the services that it serves; undefined for all that no other one has. */
  readonly services: readonly string[] | undefined;
  readonly tls: {
    readonly caFile: string | undefined;
    readonly client: TlsFiles | undefined;
    readonly serverName: string | undefined;
  };
  readonly authority: string | undefined;
  /** The file of headers of each call, and that of our own. */
  readonly headerFile: string | undefined;
  readonly ownHeaderFile: string | undefined;
}

const settingsOfTls = ["upstreamCa", "upstreamCert", "upstreamKey", "upstreamServerName"] as const;
const settingsByService = [
  ...settingsOfTls,
  ...(["upstreamAuthority", "upstreamHeaders", "reflectionHeaders"] as const),
];
type SettingByService = (typeof settingsByService)[number];

/** The settings about upstreams, each in the form `SERVICE=VALUE` or `VALUE`. */
type UpstreamSettings = Readonly<Record<"upstreams" | SettingByService, readonly string[]>>;

const form = /^(?:([A-Za-z_][\w.]*)=)?(.*)$/s;
const authorityForm = /^[\w.~!$&'()*+;=:%[\]-]+$/;

/** Services of one server with the same settings share a place. @throws {SettingsError} */
export function parseUpstreams(settings: UpstreamSettings): readonly UpstreamPlace[] {
  const given = settings.upstreams.map(split);
  const named = given.filter(({ service }) => service !== undefined);
  const urls = byService("upstream", named, "the service has another upstream; remove one");
  const tables = settingsByService.map((setting) => {
    const values = byService(setting, settings[setting].map(split), "is given twice; remove one");
    for (const [service, value] of values) {
      if (service === undefined) continue;
      const url = urls.get(service);
      const missing = `no upstream has that service; add --upstream ${service}=URL`;
      if (url === undefined) throw wrong(setting, `${service}=${value}: ${missing}`);
      const isOfTls = settingsOfTls.some((one) => one === setting);
      const idle = "does nothing: its upstream is not https";
      if (isOfTls && !isHttps(url)) throw wrong(setting, `${service}=${value}: ${idle}`);
    }
    return [setting, values] as const;
  });
  const places = new Map<string, UpstreamPlace>();
  for (const { service, value: url } of given) {
    const own = Object.fromEntries(
      tables.map(([name, values]) => [name, values.get(service) ?? values.get(undefined)]),
    ) as Record<SettingByService, string | undefined>;
    const client = pairOf(own.upstreamCert, own.upstreamKey);
    const { upstreamServerName: serverName, upstreamAuthority: authority } = own;
    if (isIP(serverName ?? "") !== 0) {
      throw wrong("upstreamServerName", `${serverName}: must be a DNS name; an IP goes in the URL`);
    }
    if (authority !== undefined && !authorityForm.test(authority)) {
      throw wrong("upstreamAuthority", `${authority}: must be HOST or HOST:PORT`);
    }
    const place = {
      ...parseUrl(url),
      tls: { caFile: own.upstreamCa, client, serverName },
      authority,
      headerFile: own.upstreamHeaders,
      ownHeaderFile: own.reflectionHeaders,
    };
    const id = JSON.stringify([place, service === undefined]);
    const { services = [] } = places.get(id) ?? {};
    const named = service === undefined ? service : [...services, service];
    places.set(id, { ...place, services: named });
  }
  const idle = settingsOfTls.find((setting) => settings[setting].length > 0);
  // Calls would be in plaintext, and their tokens.
  if (idle !== undefined && !given.some(({ value }) => isHttps(value))) {
    throw wrong(idle, "does nothing: no upstream is https");
  }
  return [...places.values()];
}

function isHttps(upstream: string): boolean {
  return parseUrl(upstream).url.startsWith("https:");
}

function split(text: string) {
  const [, service, value = ""] = form.exec(text) ?? [];
  return { text, service, value };
}

/** The value of a setting for each service; for undefined, that of all others. */
function byService(
  setting: string,
  given: readonly ReturnType<typeof split>[],
  twice: string,
): ReadonlyMap<string | undefined, string> {
  const values = new Map<string | undefined, string>();
  for (const { text, service, value } of given) {
    if (values.has(service)) throw wrong(setting, `${text}: ${twice}`);
    values.set(service, value);
  }
  return values;
}

/** Whether an upstream may contain a password, which must not be shown. */
export function hasCredentials(text: string): boolean {
  const { value } = split(text);
  const url = URL.parse(value.replace(prefixes, ""));
  return url === null ? value.includes("@") : `${url.username}${url.password}` !== "";
}

const prefixes = /^(?:(rest|connect|grpc-web)\+)?/;

function parseUrl(text: string): Pick<UpstreamPlace, "url" | "protocol"> {
  if (/^unix:./.test(text)) return { url: text, protocol: "grpc" };
  const prefix = prefixes.exec(text)?.[1] ?? "grpc";
  const url = URL.parse(text.replace(prefixes, ""));
  const { protocol, search, hash } = url ?? {};
  const isRight = (protocol === "http:" || protocol === "https:") && !(search || hash);
  if (url !== null && isRight)
    return { url: url.href.replace(/\/$/, ""), protocol: prefix as UpstreamPlace["protocol"] };
  const forms =
    "http://HOST:PORT, https://HOST:PORT or unix:PATH, or rest+, connect+ or grpc-web+ and a URL";
  throw wrong("upstream", `${text}: must be ${forms}`);
}

function pairOf(certFile: string | undefined, keyFile: string | undefined): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  const setting = certFile === undefined ? "upstreamCert" : "upstreamKey";
  throw wrong(setting, "is missing: set both the certificate and its key");
}

function wrong(setting: string, problem: string): SettingsError {
  return new SettingsError([{ setting, problem }]);
}

/**
 * What the files hold, or held before they were wrong, which is told once. Throws until they were
 * right once: without its CA, a connection would trust others.
 */
export function watchUpstreamTls(
  { caFile, client, serverName }: UpstreamPlace["tls"],
  onError: (error: unknown) => void,
): () => ClientTls {
  let last: ClientTls | undefined;
  let failure: string | undefined;
  return () => {
    try {
      last = {
        ...(caFile !== undefined && { ca: readCa(caFile) }),
        ...(client !== undefined && readTlsMaterial(client)),
        serverName,
      };
      failure = undefined;
    } catch (error) {
      if (last === undefined) throw error;
      if (failure !== `${error}`) onError(error);
      failure = `${error}`;
    }
    return last;
  };
}

/** One `NAME: VALUE` a line, maybe an API key. @throws {Error} that names the file and the line, and no value. */
export function readHeaderFile(file: string | undefined): Readonly<Record<string, string>> {
  if (file === undefined) return {};
  const fields = new Map<string, string>();
  for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    const [, given = "", text = ""] = /^([^:]*):(.*)$/.exec(line.trim()) ?? [];
    const [name, value] = [given.toLowerCase(), text.trim()];
    const twice = fields.has(name) ? `${name} is given twice; remove one` : undefined;
    const problem = findMetadataProblem(name, value) ?? twice;
    if (problem !== undefined) throw new Error(`${file}, line ${index + 1}: ${problem}`);
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}
