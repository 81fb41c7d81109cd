/** What the protocols of RPC have in common. */
import { Code, type ContextValues } from "@connectrpc/connect";
import { type Compression, compressionNegotiate } from "@connectrpc/connect/protocol";
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

export type Negotiated = ReturnType<typeof compressionNegotiate>;

/**
 * @param requested The compression of the request.
 * @param accepted The compressions that the client can decompress.
 */
export type Negotiate = (requested: string | null, accepted: string | null) => Negotiated;

/** The clients of a service send few different lists, so the choice for each is cached. */
const keptMax = 64;

/** Chooses compressions like connect-es. */
export function createNegotiator(
  available: readonly Compression[],
  headerNameAcceptEncoding: string,
): Negotiate {
  const byAccepted = new Map<string | null, Negotiated>();
  const choose = (requested: string | null, accepted: string | null) =>
    compressionNegotiate([...available], requested, accepted, headerNameAcceptEncoding);

  return (requested, accepted) => {
    if (requested !== null) return choose(requested, accepted);
    const known = byAccepted.get(accepted);
    if (known !== undefined) return known;
    const chosen = choose(null, accepted);
    if (byAccepted.size >= keptMax) byAccepted.clear();
    byAccepted.set(accepted, chosen);
    return chosen;
  };
}
