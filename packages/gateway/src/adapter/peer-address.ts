import { type ContextKey, createContextKey } from "@connectrpc/connect";

/** Where a gateway with `exposePeerAddress` leaves the address that a call comes from. */
export const peerAddressKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  { description: "the address of the peer" },
);
