/** Serves unary calls with one protocol. */
import { Code, type ContextValues } from "@connectrpc/connect";
import type { UnarySpec } from "./call.ts";
import type { Exchange, Response } from "../http/exchange.ts";
import type { Codecs } from "./codec.ts";
import type { Endpoint } from "./endpoint.ts";

/** A unary method, with everything that serves it. */
export interface UnaryEndpoint extends Endpoint {
  readonly spec: UnarySpec;
  readonly codecs: Codecs;
}

/** Serves one call and answers the exchange. Throws or rejects if not even an error can be sent. */
export type UnaryHandler = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
) => Promise<void> | undefined;

/** One protocol, for one method. */
export interface UnaryProtocol {
  /** The name in connect-es. */
  readonly name: "grpc" | "grpc-web" | "connect";
  /** The HTTP methods that it uses. */
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
