/** Limits on open connections: of all, and of each address. */
import { type BlockList, isIP, type Socket } from "node:net";
import { addressKey } from "../http/address-key.ts";
import { familyOf, type PortLimits, parseAddressBlocks } from "./limits.ts";

/**
 * Limits the open connections. At the limit, the oldest connection without a complete request is
 * closed for a new one. So silent connections, however many, keep no client out.
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #open = new Set<Socket>();
  /** Those without a complete request, oldest first. */
  readonly #silent = new Set<Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns whether there is room for the connection, which is counted until it closes. */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.#max && !this.#makeRoom()) return false;
    this.#open.add(socket);
    this.#silent.add(socket);
    socket.once("close", () => this.#forget(socket));
    return true;
  }

  /** Call after its first complete request or answer. It is then never closed for another one. */
  keep(socket: Socket): void {
    this.#silent.delete(socket);
  }

  #makeRoom(): boolean {
    const [oldest] = this.#silent;
    if (oldest === undefined) return false;
    this.#forget(oldest); // its close event comes later
    oldest.destroy();
    return true;
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#silent.delete(socket);
  }
}

/**
 * Counts the open connections of each address.
 *
 * @returns whether there is room for the connection, which is counted until it closes.
 * @throws {TypeError} for an invalid address.
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

function hasAddress(blocks: BlockList, address: string): boolean {
  return isIP(address) !== 0 && blocks.check(address, familyOf(address));
}
