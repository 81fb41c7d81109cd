import type { Http2Session } from "node:http2";

/**
 * For `maxSessionMemory` of node:http2, in megabytes. Above it, Node refuses each stream whose headers
 * arrive, because answers of others are unread. Flow control limits each stream instead: to 64 KiB, or
 * 256 KiB of an upstream's, and one message. Node counts in 32 bits: 4,295 overflow.
 */
export const sessionMegabytesMax = 4000;

/** Of a connection. */
const windowBytes = 16 * 1024 * 1024;

/**
 * Opens the window of a connection. That bounds no memory, because Node takes bytes as read when they
 * arrive: the windows of its streams do that. With Node's 64 KiB, all streams would share these in a
 * round trip.
 */
export function openWindow(session: Http2Session): void {
  // It connects even after it was closed.
  if (!session.destroyed) session.setLocalWindowSize(windowBytes);
}
