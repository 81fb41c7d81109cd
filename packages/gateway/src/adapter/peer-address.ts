import { type ContextKey, createContextKey } from "@connectrpc/connect";

/** The address of the client, if `exposePeerAddress` is set. */
export const peerAddressKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  { description: "the address of the peer" },
);
