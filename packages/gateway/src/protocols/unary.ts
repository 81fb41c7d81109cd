/** What serves unary calls by one protocol. */
import { Code, type ContextValues } from "@connectrpc/connect";
import type { UnarySpec } from "../call/call.ts";
import type { Exchange, Response } from "../exchange/exchange.ts";
import type { Codecs } from "./codec.ts";
import type { Endpoint } from "./endpoint.ts";

/** A unary method, with all that serves it. */
export interface UnaryEndpoint extends Endpoint {
  readonly spec: UnarySpec;
  readonly codecs: Codecs;
}

/** Serves one call: answers the exchange. Throws or rejects where even an error cannot be answered. */
export type UnaryHandler = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
) => Promise<void> | undefined;

/** One protocol, for one method. */
export interface UnaryProtocol {
  /** As connect-es calls it. */
  readonly name: "grpc" | "grpc-web" | "connect";
  /** The HTTP methods by which it is called. */
  readonly methods: readonly string[];
  /** @returns the handler for a media type; undefined for one of another protocol. */
  readonly handlerFor: (contentType: string, method: string) => UnaryHandler | undefined;
}

export const unsupportedMediaType: Response = {
  status: 415,
  header: { "content-length": 0 },
  body: "",
  code: Code.InvalidArgument, // as for REST
};
