export interface RequestTarget {
  /** The raw path, still percent-encoded. */
  readonly path: string;
  /** The raw text after the first `?`; empty if there is none. */
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
export const authority = /^(\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{0,5})?$/;

/** What a URL keeps unchanged: a name, or an address of IPv4. */
const plainHost =
  /^(?:(?:[a-z\d]+[.-])*[a-z]+|(?:1\d\d|[1-9]?\d)(?:\.(?:1\d\d|[1-9]?\d)){3})(?::(?:[1-9]\d{3}|[1-5]\d{4}))?$/;

/** A target that a URL keeps unchanged: nothing to encode, no dot segments. */
const plainTarget = /^(?:\/[\w~-][\w.~-]*)+$/;

/** RFC 3986 allows none. Over HTTP/1.1 Node rejects it; over HTTP/2 Node reads the bytes as Latin-1. */
const notAscii = /[^\0-\x7f]/;

/** The normalised URL of a request. Undefined if it does not name one host, or is not valid. */
export function resolveUrl(
  scheme: "http" | "https",
  host: string | undefined,
  target: string,
  mayBeText = false,
): string | undefined {
  if (host === undefined) return undefined;
  if (plainHost.test(host) && plainTarget.test(target)) return `${scheme}://${host}${target}`;
  const [, named = host] = absoluteForm.exec(target) ?? [];
  if (!authority.test(host) || !authority.test(named)) return undefined;
  if (!mayBeText && notAscii.test(target)) return undefined;
  const origin = `${scheme}://${host}`;
  // Relative to the origin, `//a/b` would be at another host.
  return URL.parse(target.startsWith("/") ? origin + target : target, origin)?.href;
}

/**
 * Whether a stranger can have a browser send this host to a server of its network, by DNS rebinding:
 * a name that can be registered, so not an address, a loopback name or one without a dot.
 */
export function isRebindable(host: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? "a.b";
  return name.includes(".") && !ownName.test(name);
}

const ownName = /^(?:[\d.]+|\[.*\]|.*\.localhost\.?|localhost\.)$/;
