import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";

/** Options for the services of the gateway's own, on top of which come the caller's. */
export const smallMessages: Partial<UniversalHandlerOptions> = {
  // Names and nothing else: a stranger must not make us read or unpack more.
  readMaxBytes: 4096,
  // What a stranger asks for again and again is not compressed again and again.
  compressMinBytes: 0xffffffff,
};

/** What is registered on a router, also after this call: look when it matters. */
export function servicesOf(router: ConnectRouter): readonly DescService[] {
  return [...new Set(router.handlers.map(({ service }) => service))];
}
