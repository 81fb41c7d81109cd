/** Limits on open connections: of all, of each address, and of those whose clients have left. */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { addressKey, countFor } from "../http/address-key.ts";
import { handleOf } from "./intake.ts";
import { familyOf, type PortLimits, parseAddressBlocks } from "./limits.ts";

/**
 * Limits the open connections. At the limit, the oldest one without a complete request, or whose
 * client has shut its sending side, is closed for a new one: these keep no client out.
 */
export function createConnectionLimit(connectionsMax: number) {
  const max = Math.min(connectionsMax, roomForSockets());
  const open = new Set<Socket>();
  const silent = new Set<Socket>();

  function forget(socket: Socket): void {
    open.delete(socket);
    silent.delete(socket);
  }

  return {
    open: open as Iterable<Socket>,
    /** @returns whether there is room for the connection, which is counted until it closes. */
    admit(socket: Socket): boolean {
      if (open.size >= max) {
        const [oldest] = silent;
        if (oldest === undefined) return false;
        forget(oldest); // its close event comes later
        oldest.destroy();
      }
      open.add(socket);
      silent.add(socket);
      socket.once("close", () => forget(socket));
      return true;
    },
    /** Call after its first complete request or answer. It is then not closed for another one. */
    keep: (socket: Socket) => void silent.delete(socket),
    /** Call when its client has shut its sending side. It may be closed for another one. */
    release: (socket: Socket) => void (open.has(socket) && silent.add(socket)),
  };
}

/** Beside other files: with no file left, the system closes new connections. Known on Linux. */
function roomForSockets(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const [, filesMax = "Infinity"] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    return Math.max(1, (Number(filesMax) * 7) / 8 - 48);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Counts the open connections of each address. @returns whether there is room for one more. */
export function createAddressLimit(limits: PortLimits): (socket: Socket) => boolean {
  const { connectionsPerAddressMax: max, connectionsExempt = [] } = limits;
  const exempt = parseAddressBlocks(connectionsExempt);
  if (max === undefined) return () => true;
  const open = new Map<string, number>();
  return (socket) => {
    const address = socket.remoteAddress;
    // A socket of this machine has none.
    if (address === undefined || exempt.check(address, familyOf(address))) return true;
    const key = addressKey(address);
    const count = open.get(key) ?? 0;
    if (count >= max) return false;
    countFor(open, key, 1);
    socket.once("close", () => countFor(open, key, -1));
    return true;
  };
}

/** How often to check whether the client of a half-closed connection is still there. */
const lookIntervalMs = 250;

/** A client that has shut its sending side gets its answers while it is there, within a limit. */
export function limitHalfOpen(socket: Socket, { idleTimeoutMs }: PortLimits): void {
  socket.once("end", () => {
    const endsAt = performance.now() + idleTimeoutMs;
    const look = () => {
      if (isReset(socket) || performance.now() >= endsAt) socket.destroy();
    };
    const timer = setInterval(look, Math.min(lookIntervalMs, idleTimeoutMs)).unref();
    socket.once("close", () => clearInterval(timer));
    look();
  });
}

/**
 * Whether the client has reset the connection, as the system knows, which then has no address of
 * the peer. After the end of what a client sends, Node does not read, so it does not notice. Over
 * TLS, writes need not fail either: if one of TLS itself has failed, all others wait for it.
 */
export function isReset(socket: Socket): boolean {
  return (handleOf(socket)?.getpeername?.({}) ?? 0) < 0;
}
