/** What the protocols of RPC have in common. */
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { compressionNegotiate } from "@connectrpc/connect/protocol";
import type { Exchange, Response } from "../http/exchange.ts";
import type { NodeHeaders } from "../http/headers.ts";

/** Serves one call and answers the exchange. Throws or rejects if not even an error can be sent. */
export type ServeRpc = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
) => Promise<void> | undefined;

export interface Protocol {
  /** The name in connect-es. */
  readonly name: "grpc" | "grpc-web" | "connect";
  readonly methods: readonly string[];
  /** @returns the handler for a media type; undefined for one of another protocol. */
  readonly handlerFor: (contentType: string, method: string) => ServeRpc | undefined;
}

/** An answer of HTTP alone: which protocol it is for is not known. */
export function emptyResponse(
  status: number,
  error: ConnectError,
  header: NodeHeaders = {},
): Response {
  return { status, header: { ...header, "content-length": 0 }, body: "", error };
}

export function unsupportedMediaType(): Response {
  const message = "the Content-Type is not supported";
  return emptyResponse(415, new ConnectError(message, Code.InvalidArgument)); // as for REST
}

/** The compressions of a request and of its answer, and why the first is refused. */
export type Negotiated = ReturnType<typeof compressionNegotiate>;

/** The answer without a Content-Length of the application: that is not the length of its envelopes. */
export function withoutLength(fields: NodeHeaders): NodeHeaders {
  if (!("content-length" in fields)) return fields;
  const { "content-length": _length, ...rest } = fields;
  return rest;
}
