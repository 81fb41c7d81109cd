import type { NodeHeaders } from "./headers.ts";

/** RFC 9113 section 8.2.2: connection-specific headers are not allowed in HTTP/2. */
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

/** The headers allowed in a response over HTTP/2. Node throws if it is given others. */
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
