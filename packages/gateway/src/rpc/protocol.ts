/** What the protocols of RPC have in common. */
import { Code, type ContextValues } from "@connectrpc/connect";
import type { Exchange, Response } from "../http/exchange.ts";

/** Serves one call and answers the exchange. Throws or rejects if not even an error can be sent. */
export type ServeRpc = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
) => Promise<void> | undefined;

/** One protocol, for one method. */
export interface Protocol {
  /** The name in connect-es. */
  readonly name: "grpc" | "grpc-web" | "connect";
  /** The HTTP methods that it uses. */
  readonly methods: readonly string[];
  /** @returns the handler for a media type; undefined for one of another protocol. */
  readonly handlerFor: (contentType: string, method: string) => ServeRpc | undefined;
}

export const unsupportedMediaType: Response = {
  status: 415,
  header: { "content-length": 0 },
  body: "",
  code: Code.InvalidArgument, // as for REST
};
