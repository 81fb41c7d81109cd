export interface RequestTarget {
  /** The raw path, still percent-encoded. */
  readonly path: string;
  /** The raw text after the first `?`; empty if there is none. */
  readonly query: string;
}

/** Splits the request target (RFC 9112 section 3.2): origin-form or absolute-form. */
export function parseRequestTarget(url: string): RequestTarget {
  const target = url.replace(absoluteForm, "");
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target === "" ? "/" : target, query: "" };
  return { path: mark === 0 ? "/" : target.slice(0, mark), query: target.slice(mark + 1) };
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

// RFC 3986 section 3.2: host and port, without user information.
const authority = /^(\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{0,5})?$/;

/** A target that a URL keeps unchanged: nothing to encode, no dot segments. */
const plainTarget = /^(?:\/[\w~-][\w.~-]*)+$/;

/** RFC 3986 allows none. Over HTTP/1.1 Node rejects it; over HTTP/2 Node reads the bytes as Latin-1. */
const notAscii = /[^\0-\x7f]/;

export function resolveUrl(origin: string, target: string): string {
  return plainTarget.test(target) ? origin + target : new URL(target, origin).toString();
}

/** The normalised scheme and authority of a request. Undefined if no URL can be made of them and the target. */
export function parseOrigin(
  scheme: "http" | "https",
  host: string | undefined,
  target: string,
): string | undefined {
  const origin = host === undefined ? undefined : normalOrigin(scheme, host);
  if (origin === undefined || plainTarget.test(target)) return origin;
  const [, named] = absoluteForm.exec(target) ?? [];
  const isHost = named === undefined || authority.test(named);
  return isHost && !notAscii.test(target) && URL.canParse(target, origin) ? origin : undefined;
}

interface Origin {
  readonly scheme: string;
  readonly host: string;
  readonly origin: string;
}

/** A service has few names, so the last results are cached, most recent first. */
const origins: Origin[] = [];
const originsMax = 16;

function normalOrigin(scheme: string, host: string): string | undefined {
  // The strings are new with each request: hashing one costs more than comparing it with a few.
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
