import type { Attributes } from "@opentelemetry/api";
import type { ObservedRequest } from "../adapter/observer.ts";
import { isHttp } from "./convention-of.ts";

/**
 * Attributes only for spans, not for metrics: clients choose the host, and there are many peers.
 */
export function describeForSpan(request: ObservedRequest): Attributes {
  return { ...describePath(request), ...describeConnection(request) };
}

/** A path with variables, or an unknown one, may contain anything: ids, names, tokens. */
function describePath({ protocol, pathTemplate }: ObservedRequest): Attributes {
  const isFixed = pathTemplate !== undefined && !/[{*]/.test(pathTemplate);
  return isHttp(protocol) && isFixed ? { "url.path": pathTemplate } : {};
}

/** The service as addressed by the client, and the peer of the connection. */
function describeConnection({ headers, peerAddress }: ObservedRequest): Attributes {
  const [, host, port] =
    authority.exec(String(headers[":authority"] ?? headers["host"] ?? "")) ?? [];
  const peer = peerAddress();
  return {
    ...(host !== undefined && { "server.address": host }),
    ...(port !== undefined && { "server.port": Number(port) }),
    ...(peer !== undefined && { "network.peer.address": peer }),
  };
}

/** A name or address of at most the DNS length, and a port. */
const authority = /^([\w.-]{1,253}|\[[\dA-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;
