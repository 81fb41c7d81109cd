import type { NodeHeaders } from "./lazy-headers.ts";

/** RFC 9113 section 8.2.2: what belongs to a connection has no place in HTTP/2. */
const connectionHeaders = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/** @param name In lower case. */
export function isOfConnection(name: string): boolean {
  return connectionHeaders.has(name);
}

/** The headers that a response over HTTP/2 may have; Node refuses to send the others. */
export function withoutConnection(headers: NodeHeaders): NodeHeaders {
  for (const name in headers) {
    if (connectionHeaders.has(name)) return filtered(headers);
  }
  return headers;
}

function filtered(headers: NodeHeaders): NodeHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !connectionHeaders.has(name)),
  );
}
