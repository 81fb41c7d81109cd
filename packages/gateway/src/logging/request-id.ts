import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { createContextKey } from "@connectrpc/connect";

/** Of the request and of its answer, as most proxies write it. */
export const requestIdHeader = "x-request-id";

/** The id of a call's request, where there is an access log. */
export const requestIdKey = createContextKey<string | undefined>(undefined, {
  description: "request id",
});

/** The id that a request has come with, if it is fit for a line and a header; else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers[requestIdHeader];
  return typeof given === "string" && safeId.test(given) ? given : randomUUID();
}

const safeId = /^[\w.~:+/=@-]{1,128}$/;
