/** What is answered where no method is called. */
import type { IncomingHttpHeaders } from "node:http";
import { Code } from "@connectrpc/connect";
import type { Response } from "../exchange/exchange.ts";
import { RestFailure } from "../rest/error.ts";
import { protocolOf } from "./observer.ts";
import type { Route } from "./routing.ts";

export function noUrl(): RestFailure {
  const message = "Host must name one host, and the target be a path";
  return new RestFailure(400, Code.InvalidArgument, message);
}

export function sentTwice(field: string): RestFailure {
  return new RestFailure(400, Code.InvalidArgument, `the header ${field} must be sent once`);
}

const noContent = { header: { "content-length": 0 }, body: "", code: Code.Unimplemented };

/** @throws {RestFailure} for REST, whose answers all have a body. */
export function notFound(headers: IncomingHttpHeaders, { isRpc }: Route): Response {
  // Clients of RPC read the status alone; our errors have no meaning for them.
  if (protocolOf(headers, isRpc) !== "rest") return { status: 404, ...noContent };
  throw new RestFailure(404, Code.NotFound, "nothing is served at this path");
}

/** @throws {RestFailure} for REST, whose answers all have a body. */
export function methodNotAllowed({ isRpc, allow }: Route): Response {
  const header = {
    allow: allow.join(", "), // RFC 9110 section 15.5.6
    ...(allow.includes("QUERY") && { "accept-query": "application/json" }), // RFC 10008 section 3
  };
  if (isRpc) return { status: 405, ...noContent, header: { ...header, ...noContent.header } };
  throw new RestFailure(405, Code.Unimplemented, `the method must be ${header.allow}`, header);
}
