import type { TlsFiles } from "connect-gateway/server";
import { CommandError } from "./command-error.ts";
import type { GivenFlags } from "./flags.ts";
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

/** `SERVICE=VALUE`, or `VALUE`. */
const form = /^(?:([A-Za-z_][\w.]*)=)?(.*)$/s;

/** Reads `--upstream`, and the flags about upstreams. @throws {CommandError} */
export function parseUpstreams(flags: GivenFlags): readonly UpstreamPlace[] {
  const places = parsePlaces(flags.upstream ?? []);
  const named = new Set(places.flatMap(({ services = [] }) => services));
  const valueFor = (flag: FlagByService) => readByService(flag, flags[flag], named);
  const [ca, cert, key] = [
    valueFor("upstream-ca"),
    valueFor("upstream-cert"),
    valueFor("upstream-key"),
  ];
  const serverName = valueFor("upstream-server-name");
  const authority = valueFor("upstream-authority");
  return places.map((place) => ({
    ...place,
    tls: {
      caFile: ca(place),
      client: pairOf("upstream-cert", cert(place), "upstream-key", key(place)),
      serverName: serverName(place),
    },
    authority: authority(place),
  }));
}

type FlagByService =
  | "upstream-ca"
  | "upstream-cert"
  | "upstream-key"
  | "upstream-server-name"
  | "upstream-authority";

type Place = Pick<UpstreamPlace, "url" | "services">;

/** What a flag says of a place: by one of its services, or else of all. */
function readByService(flag: string, given: readonly string[] = [], named: ReadonlySet<string>) {
  const values = new Map<string | undefined, string>();
  for (const text of given) {
    const [, service, value = ""] = form.exec(text) ?? [];
    if (service !== undefined && !named.has(service)) {
      throw new CommandError(`--${flag} ${text}: there is no --upstream ${service}=URL`);
    }
    if (values.has(service)) throw new CommandError(`--${flag} ${text}: there is another`);
    values.set(service, value);
  }
  return ({ services = [] }: Place): string | undefined => {
    const own = services.find((service) => values.has(service));
    return values.get(own);
  };
}

function parsePlaces(given: readonly string[]): readonly Place[] {
  if (given.length === 0) {
    throw new CommandError("no upstream: give --upstream http://HOST:PORT");
  }
  const servicesByUrl = new Map<string, string[]>();
  let common: string | undefined;
  const named = new Set<string>();
  for (const text of given) {
    const [, service, address = ""] = form.exec(text) ?? [];
    const url = parseUrl(address);
    if (service === undefined) {
      if (common !== undefined) {
        throw new CommandError(
          `--upstream ${text}: ${common} has all services already; write SERVICE=${text}`,
        );
      }
      common = url;
    } else {
      if (named.has(service)) throw new CommandError(`--upstream ${text}: ${service} has one`);
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
  throw new CommandError(
    `--upstream ${text}: must be http://HOST:PORT, https://HOST:PORT or unix:PATH`,
  );
}

export function pairOf(
  certFlag: string,
  certFile: string | undefined,
  keyFlag: string,
  keyFile: string | undefined,
): TlsFiles | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new CommandError(`--${certFlag} and --${keyFlag} must be given together`);
}
