import { Code } from "@connectrpc/connect";
import type { Attributes } from "@opentelemetry/api";
import type { CallEnding, ObservedRequest } from "connect-gateway";

/**
 * What a span says of a call, by one of the semantic conventions of
 * OpenTelemetry 1.45 (https://opentelemetry.io/docs/specs/semconv/). Never
 * anything that a client may write as it likes: not its query, nor a path that is
 * not ours, because plants and tokens may be there.
 */
export interface SpanConvention {
  describeRequest(request: ObservedRequest, scheme: "http" | "https"): SpanBeginning;
  describeEnding(request: ObservedRequest, ending: CallEnding): SpanEnding;
}

export interface SpanBeginning {
  readonly name: string;
  /** What a sampler may go by. */
  readonly attributes: Attributes;
}

export interface SpanEnding {
  readonly attributes: Attributes;
  /** What has failed, if it was this service that did. */
  readonly errorType: string | undefined;
}

/** Where a call came from, and the name of the service that it was sent to. */
export function describeConnection({ headers, peerAddress }: ObservedRequest): Attributes {
  const [, host, port] = authority.exec(String(headers[":authority"] ?? headers.host)) ?? [];
  const peer = peerAddress();
  return {
    ...(host !== undefined && { "server.address": host }),
    ...(port !== undefined && { "server.port": Number(port) }),
    ...(peer !== undefined && { "network.peer.address": peer }),
  };
}

/** A name or address, no longer than DNS has them, and a port. */
const authority = /^([\w.-]{1,253}|\[[\dA-Fa-f:.]{2,45}\])(?::(\d{1,5}))?$/;

/** Whether a code says that the service has failed, and not its caller. */
export function isServerError(code: Code | undefined): boolean {
  return code !== undefined && serverErrors.has(code);
}

const serverErrors: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);
