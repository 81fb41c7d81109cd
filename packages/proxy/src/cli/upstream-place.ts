import type { TlsFiles } from "connect-gateway/server";
import { SettingsError } from "../settings/settings-error.ts";
import type { UpstreamTlsFiles } from "./upstream-tls.ts";

/** One server, by its URL. */
export interface UpstreamPlace {
  readonly url: string;
  /** The full names of the services that it serves; undefined for all that no other one has. */
  readonly services: readonly string[] | undefined;
  readonly tls: UpstreamTlsFiles;
  /** What `:authority` says. */
  readonly authority: string | undefined;
}

/** The settings about upstreams, each in the form `SERVICE=VALUE` or `VALUE`. */
export type UpstreamSettings = Readonly<Record<"upstreams" | SettingByService, readonly string[]>>;

type SettingByService =
  | "upstreamCa"
  | "upstreamCert"
  | "upstreamKey"
  | "upstreamServerName"
  | "upstreamAuthority";

type Place = Pick<UpstreamPlace, "url" | "services">;

const form = /^(?:([A-Za-z_][\w.]*)=)?(.*)$/s;

/** @throws {SettingsError} */
export function parseUpstreams(settings: UpstreamSettings): readonly UpstreamPlace[] {
  const places = parsePlaces(settings.upstreams);
  const named = new Set(places.flatMap(({ services = [] }) => services));
  const valueFor = (setting: SettingByService) => readByService(setting, settings[setting], named);
  const [ca, cert, key] = [
    valueFor("upstreamCa"),
    valueFor("upstreamCert"),
    valueFor("upstreamKey"),
  ];
  const serverName = valueFor("upstreamServerName");
  const authority = valueFor("upstreamAuthority");
  return places.map((place) => ({
    ...place,
    tls: {
      caFile: ca(place),
      client: pairOf(cert(place), key(place)),
      serverName: serverName(place),
    },
    authority: authority(place),
  }));
}

/** What a setting says of a place: by one of its services, or else of all. */
function readByService(
  setting: SettingByService,
  given: readonly string[],
  named: ReadonlySet<string>,
) {
  const values = new Map<string | undefined, string>();
  for (const text of given) {
    const [, service, value = ""] = form.exec(text) ?? [];
    if (service !== undefined && !named.has(service)) {
      throw wrong(setting, `${text}: there is no upstream ${service}=URL`);
    }
    if (values.has(service)) throw wrong(setting, `${text}: there is another`);
    values.set(service, value);
  }
  return ({ services = [] }: Place): string | undefined => {
    const own = services.find((service) => values.has(service));
    return values.get(own);
  };
}

function parsePlaces(given: readonly string[]): readonly Place[] {
  const servicesByUrl = new Map<string, string[]>();
  let common: string | undefined;
  const named = new Set<string>();
  for (const text of given) {
    const [, service, address = ""] = form.exec(text) ?? [];
    const url = parseUrl(address);
    if (service === undefined) {
      if (common !== undefined) {
        throw wrong(
          "upstream",
          `${text}: ${common} has all services already; write SERVICE=${text}`,
        );
      }
      common = url;
    } else {
      if (named.has(service)) throw wrong("upstream", `${text}: ${service} has one`);
      named.add(service);
      servicesByUrl.set(url, [...(servicesByUrl.get(url) ?? []), service]);
    }
  }
  const places: Place[] = common === undefined ? [] : [{ url: common, services: undefined }];
  for (const [url, services] of servicesByUrl) {
    if (url !== common) places.push({ url, services });
  }
  return places;
}

function parseUrl(text: string): string {
  if (/^unix:./.test(text)) return text;
  const url = URL.parse(text);
  const isRight =
    url !== null &&
    (url.protocol === "http:" || url.protocol === "https:") &&
    url.search === "" &&
    url.hash === "" &&
    url.username === "" &&
    url.password === "";
  if (isRight) return url.href.replace(/\/$/, "");
  throw wrong("upstream", `${text}: must be http://HOST:PORT, https://HOST:PORT or unix:PATH`);
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
