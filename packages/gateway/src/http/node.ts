/** Requests and responses of Node, and the exchange that is made of them. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { BodyBudget } from "./body-budget.ts";
import type { NodeExchange } from "./node-exchange.ts";
import { RequestExchange } from "./request-exchange.ts";
import { StreamExchange } from "./stream-exchange.ts";
import { parseOrigin } from "./target.ts";

type StockHandler = ReturnType<typeof connectNodeAdapter>;

/** A request of `node:http` or of the compatibility API of `node:http2`. */
export type NodeRequest = Parameters<StockHandler>[0];
export type NodeResponse = Parameters<StockHandler>[1];

/** A request listener for `node:http`, `node:https` and `node:http2` servers. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => void | Promise<void>;

/** The exchange of a request of HTTP/1.1, or of the compatibility API of HTTP/2. */
export function exchangeFor(
  request: NodeRequest,
  response: NodeResponse,
  origin = "",
  budget?: BodyBudget,
): NodeExchange {
  return "stream" in response
    ? StreamExchange.of(request as Http2ServerRequest, response, origin, budget)
    : new RequestExchange(request as IncomingMessage, response, origin, budget);
}

/**
 * The normalised scheme and authority of a request. Undefined if it does not name exactly one host,
 * or no URL can be made of it and the target. HTTP/1.0 need not name a host; such a request gets
 * `localhost`.
 */
export function originOf(request: NodeRequest): string | undefined {
  const { headers, url = "" } = request;
  if (request.httpVersion === "1.0") headers.host ??= "localhost";
  const isCore = "authority" in request;
  if (!isCore && countHosts(request.rawHeaders) > 1) return undefined;
  const scheme = "encrypted" in request.socket ? "https" : "http";
  return parseOrigin(scheme, isCore ? request.authority : headers.host, url);
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/**
 * Finds a repeated field that may occur only once in a request. Node keeps the first one and
 * silently drops the others, while proxies may keep the last. Authorization and the meaning of a
 * body must not depend on that (RFC 9110 section 5.3).
 *
 * @param rawHeaders In Node's form: name, value, name, value, …
 */
export function findRepeatedField(rawHeaders: readonly string[]): string | undefined {
  let hasType = false;
  let hasAuthorization = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Runs for every request: most names have another length.
    if (name.length === contentType.length && isNamed(name, contentType)) {
      if (hasType) return "Content-Type";
      hasType = true;
    } else if (name.length === authorization.length && isNamed(name, authorization)) {
      if (hasAuthorization) return "Authorization";
      hasAuthorization = true;
    }
  }
  return undefined;
}

const contentType = "content-type";
const authorization = "authorization";

function isNamed(name: string, lowerCase: string): boolean {
  return name === lowerCase || name.toLowerCase() === lowerCase;
}

/**
 * Sends 100 (Continue) when the body of a request is first read. So a request that is rejected by
 * its headers never asks for the body (RFC 9110 section 10.1.1). For listeners of `checkContinue`
 * only: for other requests, Node has already sent it.
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!isOver(response)) response.writeContinue();
    read.call(request, size);
  };
}

/** Whether an answer has begun or is no longer possible. What is read then is discarded. */
function isOver(response: NodeResponse): boolean {
  if (response.headersSent) return true;
  return "stream" in response && (response.stream.destroyed || response.stream.closed);
}
