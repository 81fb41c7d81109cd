/** One server, by its URL. */
export interface UpstreamPlace {
  readonly url: string;
  /** The full names of the services that it serves; undefined for all that no other one has. */
  readonly services: readonly string[] | undefined;
}

/** `SERVICE=URL`, or `URL`. */
const form = /^(?:([A-Za-z_][\w.]*)=)?(.*)$/s;

/** Reads `--upstream`. @throws {TypeError} */
export function parseUpstreams(given: readonly string[]): readonly UpstreamPlace[] {
  const servicesByUrl = new Map<string, string[]>();
  let common: string | undefined;
  const named = new Set<string>();
  for (const text of given) {
    const [, service, address = ""] = form.exec(text) ?? [];
    const url = parseUrl(address);
    if (service === undefined) {
      if (common !== undefined) {
        throw new TypeError(`${text}: ${common} has all services already; write SERVICE=${text}`);
      }
      common = url;
    } else {
      if (named.has(service)) throw new TypeError(`${text}: ${service} has one`);
      named.add(service);
      servicesByUrl.set(url, [...(servicesByUrl.get(url) ?? []), service]);
    }
  }
  const places: UpstreamPlace[] =
    common === undefined ? [] : [{ url: common, services: undefined }];
  for (const [url, services] of servicesByUrl) {
    if (url !== common) places.push({ url, services });
  }
  return places;
}

function parseUrl(text: string): string {
  const url = URL.parse(text);
  const isRight =
    url !== null &&
    (url.protocol === "http:" || url.protocol === "https:") &&
    url.search === "" &&
    url.hash === "" &&
    url.username === "" &&
    url.password === "";
  if (isRight) return url.href.replace(/\/$/, "");
  throw new TypeError(`${text}: must be http://HOST:PORT or https://HOST:PORT`);
}
