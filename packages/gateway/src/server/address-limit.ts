import type { Socket } from "node:net";
import { addressKey } from "../exchange/address-key.ts";

/**
 * Counts the open connections of each address.
 *
 * @param max Undefined: any number.
 * @returns whether there is room for the connection, which is counted until it closes.
 */
export function createAddressLimit(max: number | undefined): (socket: Socket) => boolean {
  if (max === undefined) return () => true;
  const open = new Map<string, number>();
  return (socket) => {
    const key = addressKey(socket.remoteAddress ?? "");
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
