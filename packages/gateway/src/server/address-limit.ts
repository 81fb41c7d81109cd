import type { Socket } from "node:net";
import { addressKey } from "../http/address-key.ts";
import { hasAddress, parseAddressBlocks } from "./address-blocks.ts";
import type { PortLimits } from "./limits.ts";

/**
 * Counts the open connections of each address.
 *
 * @returns whether there is room for the connection, which is counted until it closes.
 * @throws {TypeError} for an address that is none.
 */
export function createAddressLimit({
  connectionsPerAddressMax: max,
  connectionsExempt = [],
}: Pick<PortLimits, "connectionsPerAddressMax" | "connectionsExempt">): (
  socket: Socket,
) => boolean {
  const exempt = parseAddressBlocks(connectionsExempt);
  if (max === undefined) return () => true;
  const open = new Map<string, number>();
  return (socket) => {
    const address = socket.remoteAddress;
    // A socket of this machine has none.
    if (address === undefined || hasAddress(exempt, address)) return true;
    const key = addressKey(address);
    const count = open.get(key) ?? 0;
    if (count >= max) return false;
    open.set(key, count + 1);
    socket.once("close", () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
    return true;
  };
}
