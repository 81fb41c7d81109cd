/** The metadata that the proxy passes on: a list of request headers, and all response headers about the call. */
import type { HandlerContext } from "@connectrpc/connect";
import { peerAddressKey } from "connect-gateway";
import { isOfConnection, LazyHeaders, toNodeHeaders } from "connect-gateway/client";
import { requestIdHeader, requestIdKey } from "connect-gateway/logging";

/** Passed on by default: caller, language and trace. Not cookies, and not headers about proxies. */
export const defaultRequestMetadata: readonly string[] = [
  ...["accept-language", "authorization", "traceparent", "tracestate", "x-request-id"],
];

export type RequestMetadata = (
  context: Pick<HandlerContext, "requestHeader" | "values">,
) => Record<string, string>;

/** @param onDropped Told of a header whose value gRPC cannot carry. @throws {TypeError} for a wrong name. */
export function createRequestMetadata(
  names: readonly string[],
  onDropped: (name: string) => void = () => {},
): RequestMetadata {
  const wrong = names.find((name) => !isPassable(name));
  if (wrong !== undefined) {
    throw new TypeError(`requestMetadata: ${JSON.stringify(wrong)} cannot be passed on`);
  }
  const passed = [...new Set(names.map((name) => name.toLowerCase()))];
  return ({ requestHeader, values }) => {
    const metadata: Record<string, string> = {};
    const nominated = nominatedBy(requestHeader.get("connection"));
    for (const name of passed) {
      const ownId = name === requestIdHeader ? values.get(requestIdKey) : undefined;
      const value = ownId ?? requestHeader.get(name);
      if (value === null || nominated.includes(name)) continue;
      // Servers may fail a call for an invalid value. Clients should not (PROTOCOL-HTTP2).
      if (isValidFor(name, value)) metadata[name] = value;
      else onDropped(name);
    }
    const peer = values.get(peerAddressKey);
    const before = metadata[forwardedFor];
    if (peer !== undefined) metadata[forwardedFor] = before ? `${before}, ${peer}` : peer;
    return metadata;
  };
}

/** The fields that a Connection header says are of the connection, too: RFC 9110 section 7.6.1. */
function nominatedBy(connection: unknown): readonly string[] {
  return connection ? `${connection}`.toLowerCase().split(/[\s,]+/) : [];
}

const forwardedFor = "x-forwarded-for";

/** Whether a request header may be passed on: a name that is not for the connection or the protocol. */
export function isPassable(given: string): boolean {
  const name = given.toLowerCase();
  return nameSyntax.test(name) && !isOfProtocol(name);
}

/** @returns why a header cannot be sent to an upstream. Shows no value. */
export function findMetadataProblem(name: string, value: string): string | undefined {
  if (!isPassable(name))
    return "must be NAME: VALUE, with the name of a header that is not gRPC's own";
  return isValidFor(name.toLowerCase(), value)
    ? undefined
    : `${name} has a value that gRPC cannot send`;
}

export function isValidFor(name: string, value: string): boolean {
  if (!name.endsWith("-bin")) return /^[\x20-\x7e]*$/.test(value);
  return value.split(",").every((one) => base64Syntax.test(one.trim()));
}

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, as all that follows. */
const nameSyntax = /^[a-z\d_.-]+$/;
const base64Syntax = /^([a-z\d+/]{4})*([a-z\d+/]{2}(==)?|[a-z\d+/]{3}=?)?$/i;

/** Adds the headers of an upstream's answer, except those of its connection, its origin or the protocol. */
export function addFields(to: Headers, from: Headers): void {
  const fields = from instanceof LazyHeaders ? from.toNode() : toNodeHeaders(from);
  const nominated = nominatedBy(fields["connection"]);
  for (const name in fields) {
    if (name.startsWith(":") || isOfProtocol(name) || ofOrigin.test(name)) continue;
    if (nominated.includes(name)) continue;
    const value = fields[name];
    if (!Array.isArray(value)) to.append(name, `${value}`);
    else for (const one of value) to.append(name, one);
  }
}

function isOfProtocol(name: string): boolean {
  return name.startsWith("connect-") || ofMessages.has(name) || isOfConnection(name);
}

/** Which pages may read an answer, where else the service is, and who may pass: for the gateway to say. */
const ofOrigin = /^(?:alt-svc$|access-control|proxy-authenticat)/;

/** Each side has its own. Others of gRPC are for the ends, such as `grpc-retry-pushback-ms`. */
const ofMessages = new Set([
  ...["accept-encoding", "content-encoding", "content-length", "content-type"],
  ...["date", "expect", "host", "trailer"],
  ...["grpc-accept-encoding", "grpc-encoding", "grpc-fields-omitted", "grpc-message"],
  ...["grpc-status", "grpc-status-details-bin", "grpc-timeout"],
]);
