import type { Http2Session } from "node:http2";

/** At a time, on a connection for whose bodies there was no room. */
const streamsMax = 16;

/** How long no body must have been refused before there may be more again. */
const slowMs = 3000;

/** Whether more was refused in the last interval. */
const slowed = new WeakMap<Http2Session, { isRefused: boolean }>();

/**
 * Lets a connection have few requests at a time for a while (RFC 9113 section 5.1.2). Its client
 * keeps the others to itself, where it would have sent them again and again to be refused.
 */
export function slowDown(session: Http2Session): void {
  const state = slowed.get(session);
  if (state !== undefined) {
    state.isRefused = true;
    return;
  }
  // Node knows its own settings once the client has confirmed them.
  const { maxConcurrentStreams = 0 } = session.localSettings;
  if (session.pendingSettingsAck || session.closed || maxConcurrentStreams <= streamsMax) return;
  const begun = { isRefused: false };
  slowed.set(session, begun);
  session.settings({ maxConcurrentStreams: streamsMax });
  const timer = setInterval(() => {
    if (begun.isRefused) {
      begun.isRefused = false;
      return;
    }
    clearInterval(timer);
    slowed.delete(session);
    if (!session.closed) session.settings({ maxConcurrentStreams });
  }, slowMs);
  session.once("close", () => clearInterval(timer));
}
