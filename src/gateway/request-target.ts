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
  const target = url.replace(absoluteForm, "");
  const [path = "", ...query] = target.split("?");
  return { path: path === "" ? "/" : path, query: query.join("?") };
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

// RFC 3986 section 3.2: host and port, without user information.
const authority = /^(\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{0,5})?$/;

/**
 * Whether a URL can be made of where the request says it goes: connect-es makes
 * one, and ends the process where it cannot. HTTP/1.0 need not name a host; such
 * a request gets `localhost`.
 */
export function hasUrl(request: IncomingMessage | Http2ServerRequest): boolean {
  const { headers } = request;
  if (request.httpVersion === "1.0") headers.host ??= "localhost";
  const hosts = "authority" in request ? [request.authority] : request.headersDistinct["host"];
  const [host = ""] = hosts ?? [headers.host];
  const isOne = hosts === undefined || hosts.length === 1;
  const { url = "" } = request;
  const [, named = host] = absoluteForm.exec(url) ?? [];
  const areHosts = authority.test(host) && authority.test(named);
  return isOne && areHosts && URL.canParse(url, `http://${host}`);
}
