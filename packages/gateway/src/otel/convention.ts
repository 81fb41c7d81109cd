/**
 * Spans and metrics by the semantic conventions of OpenTelemetry 1.45
 * (https://opentelemetry.io/docs/specs/semconv/). Clients choose no value: they could fill the
 * memory with metrics.
 */
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Attributes } from "@opentelemetry/api";
import type { CallEnding, ObservedRequest } from "../adapter/observer.ts";
import type { ProtocolName } from "../rpc/call.ts";
import { codeNameOf, methodNameOf } from "../rpc/call-names.ts";

/** The scheme that clients use. If a proxy terminates TLS, the scheme between client and proxy. */
export const schemes = ["http", "https"] as const;

export type Scheme = (typeof schemes)[number];

/** Whether its calls are requests of HTTP first. */
export function isHttp(protocol: ProtocolName): boolean {
  return protocol === "rest" || protocol === "mcp";
}

/** The name of a call's span, and attributes available to a sampler. */
export function describeRequest(
  { protocol, method, pathTemplate, requestMethod }: ObservedRequest,
  scheme: Scheme,
): { readonly name: string; readonly attributes: Attributes } {
  if (!isHttp(protocol)) {
    const system = protocol === "connect" ? "connectrpc" : "grpc";
    const called = method && methodNameOf(method);
    const attributes = { "rpc.system.name": system, "rpc.method": called ?? "_OTHER" };
    return { name: called ?? system, attributes };
  }
  const isKnown = httpMethods.has(requestMethod);
  const label = isKnown ? requestMethod : "HTTP";
  return {
    name: pathTemplate === undefined ? label : `${label} ${pathTemplate}`,
    attributes: {
      "http.request.method": isKnown ? requestMethod : "_OTHER",
      "url.scheme": scheme,
      ...(pathTemplate !== undefined && { "http.route": pathTemplate }),
    },
  };
}

export function describeEnding(
  { protocol }: ObservedRequest,
  { code, status }: CallEnding,
): { readonly attributes: Attributes; readonly errorType: string | undefined } {
  if (!isHttp(protocol)) {
    const name = protocol === "connect" ? connectNameOf(code) : codeNameOf(code);
    const attributes = name === undefined ? {} : { "rpc.status_code": name };
    return { attributes, errorType: isServerError(code) ? name : undefined };
  }
  if (status === undefined) return { attributes: {}, errorType: undefined };
  // A stream that started successfully and then failed.
  const isBroken = status < 400 && isServerError(code);
  const failed = isBroken ? codeNameOf(code) : undefined;
  const errorType = status >= 500 ? String(status) : failed;
  return { attributes: { "http.response.status_code": status }, errorType };
}

const httpMethods: ReadonlySet<string> = new Set(
  "CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE".split(" "),
);

/** In Connect's form: `invalid_argument`. Connect has no code for success. */
function connectNameOf(code: Code | undefined): string | undefined {
  return code && codeToString(code in Code ? code : Code.Unknown);
}

/** Whether the service failed, not the caller. Spans of such calls have the status ERROR. */
export function isServerError(code: Code | undefined): boolean {
  return code !== undefined && (serverErrors.has(code) || !(code in Code));
}

const serverErrors: ReadonlySet<Code> = new Set([
  ...[Code.Unknown, Code.DeadlineExceeded, Code.Unimplemented],
  ...[Code.Internal, Code.Unavailable, Code.DataLoss],
]);

/** Attributes only for spans: clients choose the host, and there are many peers. */
export function describeForSpan(request: ObservedRequest): Attributes {
  const { protocol, pathTemplate, headers, peerAddress } = request;
  // A path with variables, or an unknown one, may contain anything: ids, names, tokens.
  const isFixed = pathTemplate !== undefined && !/[{*]/.test(pathTemplate);
  const [, host, port] =
    authority.exec(String(headers[":authority"] ?? headers["host"] ?? "")) ?? [];
  const peer = peerAddress();
  return {
    ...(isHttp(protocol) && isFixed && { "url.path": pathTemplate }),
    ...(host !== undefined && { "server.address": host }),
    ...(port !== undefined && { "server.port": Number(port) }),
    ...(peer !== undefined && { "network.peer.address": peer }),
  };
}

/** A name or address of at most the DNS length, and a port. */
const authority = /^([\w.-]{1,253}|\[[\dA-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;
