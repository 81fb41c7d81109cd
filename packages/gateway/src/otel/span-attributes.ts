import type { Attributes } from "@opentelemetry/api";
import type { ObservedRequest } from "../adapter/observer.ts";

/** What only spans say: the host is the client's to choose, and there are many peers. */
export function describeForSpan(request: ObservedRequest): Attributes {
  return { ...describePath(request), ...describeConnection(request) };
}

/** A path with variables, or one that leads nowhere, may hold anything: ids, names, tokens. */
function describePath({ protocol, pathTemplate }: ObservedRequest): Attributes {
  const isFixed = pathTemplate !== undefined && !/[{*]/.test(pathTemplate);
  return protocol === "rest" && isFixed ? { "url.path": pathTemplate } : {};
}

/** The service as the client addressed it, and the other end of the connection. */
function describeConnection({ headers, peerAddress }: ObservedRequest): Attributes {
  const [, host, port] = authority.exec(String(headers[":authority"] ?? headers.host ?? "")) ?? [];
  const peer = peerAddress();
  return {
    ...(host !== undefined && { "server.address": host }),
    ...(port !== undefined && { "server.port": Number(port) }),
    ...(peer !== undefined && { "network.peer.address": peer }),
  };
}

/** A name or address, no longer than DNS has them, and a port. */
const authority = /^([\w.-]{1,253}|\[[\dA-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;
