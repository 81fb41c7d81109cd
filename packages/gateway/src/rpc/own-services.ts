import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";

/** Default options for the gateway's own services. The caller's options override them. */
export const smallMessages: Partial<UniversalHandlerOptions> = {
  // Requests contain only names. A stranger must not make us read or decompress more.
  readMaxBytes: 4096,
  // Never compress answers that a stranger can request again and again.
  compressMinBytes: 0xffffffff,
};

/**
 * The services registered on a router. More may be added later, so call this when they are needed.
 */
export function servicesOf(router: ConnectRouter): readonly DescService[] {
  return [...new Set(router.handlers.map(({ service }) => service))];
}
