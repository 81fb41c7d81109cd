import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";

export interface RequestTarget {
  /** The raw path, percent-encoding and all. */
  readonly path: string;
  /** What stands behind the first `?`, raw; empty if none does. */
  readonly query: string;
}

/** Splits the request target (RFC 9112 section 3.2): origin-form or absolute-form. */
export function parseRequestTarget(url: string): RequestTarget {
  const target = url.startsWith("/") ? url : url.replace(absoluteForm, "");
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target === "" ? "/" : target, query: "" };
  return { path: mark === 0 ? "/" : target.slice(0, mark), query: target.slice(mark + 1) };
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

// RFC 3986 section 3.2: host and port, without user information.
const authority = /^(\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{0,5})?$/;

/** A target that a URL holds as it is: nothing to encode, no dot segments. */
const plainTarget = /^(?:\/[\w~-][\w.~-]*)+$/;

/** The last that was found to be plain: most requests go to few. */
let lastPlain = "";

function isPlain(target: string): boolean {
  if (target === lastPlain) return true;
  if (!plainTarget.test(target)) return false;
  lastPlain = target;
  return true;
}

/** The URL of a request, normalised. */
export function resolveUrl(origin: string, target: string): string {
  return isPlain(target) ? origin + target : new URL(target, origin).toString();
}

/**
 * Scheme and authority of where a request goes, normalised; undefined if it
 * does not name one host, or no URL can be made of that and its target.
 * HTTP/1.0 need not name a host; such a request gets `localhost`.
 */
export function originOf(request: IncomingMessage | Http2ServerRequest): string | undefined {
  const { headers, url = "" } = request;
  if (request.httpVersion === "1.0") headers.host ??= "localhost";
  const isEncrypted = "encrypted" in request.socket;
  const isCore = "authority" in request;
  const host = isCore ? request.authority : headers.host;
  if (!isCore && countHosts(request.rawHeaders) > 1) return undefined;
  return parseOrigin(isEncrypted ? "https" : "http", host, url);
}

/** As {@link originOf}, from the parts of a request. */
export function parseOrigin(
  scheme: "http" | "https",
  host: string | undefined,
  target: string,
): string | undefined {
  const origin = host === undefined ? undefined : normalOrigin(scheme, host);
  if (origin === undefined || isPlain(target)) return origin;
  const [, named] = absoluteForm.exec(target) ?? [];
  const isHost = named === undefined || authority.test(named);
  return isHost && URL.canParse(target, origin) ? origin : undefined;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

interface Origin {
  readonly scheme: string;
  readonly host: string;
  readonly origin: string;
}

/** A service has few names: what was found out of the last ones is kept, the latest first. */
const origins: Origin[] = [];
const originsMax = 16;

function normalOrigin(scheme: string, host: string): string | undefined {
  // Strings that are new with each request: to hash one costs more than to compare it with a few.
  for (const known of origins) {
    if (known.host === host && known.scheme === scheme) return known.origin;
  }
  const text = `${scheme}://${host}`;
  if (!authority.test(host) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  origins.unshift({ scheme, host, origin });
  if (origins.length > originsMax) origins.pop();
  return origin;
}
