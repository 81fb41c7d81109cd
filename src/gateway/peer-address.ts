import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";

/** Where a gateway with `exposePeerAddress` leaves the address that a call comes from. */
export const peerAddressKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  { description: "the address of the peer" },
);

/** Of a socket, as Node writes it; of one that is gone, nothing. */
export function withPeerAddress(
  socket: { readonly remoteAddress?: string | undefined } | undefined,
  values: ContextValues = createContextValues(),
): ContextValues {
  return values.set(peerAddressKey, socket?.remoteAddress);
}
