import type { Compression } from "@connectrpc/connect/protocol";
import { compressionNegotiate } from "@connectrpc/connect/protocol";

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
